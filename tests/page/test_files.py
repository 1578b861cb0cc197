"""Files in a real browser: what comes in and goes out, saves, series, and a rename across the book."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.page.conftest import OpenPage
from tests.page.test_axe import find_problems


def drop(page: Page, path: Path) -> None:
    """Drop a file onto the page, as from a folder."""
    data = page.evaluate_handle(
        """([name, bytes]) => {
            const data = new DataTransfer();
            data.items.add(new File([new Uint8Array(bytes)], name));
            return data;
        }""",
        [path.name, list(path.read_bytes())],
    )
    page.dispatch_event(".zone", "drop", {"dataTransfer": data})


def test_a_manuscript_that_is_dropped_becomes_a_book_and_says_what_came_in(
    open_page: OpenPage, workspace: Workspace, story: ProjectHandle, tmp_path: Path
) -> None:
    file = tmp_path / "An Old Book.md"
    file.write_text("# An Old Book\n\n## One\n\nRain.\n\n## Two\n\nSnow.\n", "utf-8")
    page = open_page(f"#/{story.id}/files")
    drop(page, file)
    page.get_by_role("button", name="Bring it in").click()
    report = page.get_by_role("status", name="What came in")
    expect(report).to_contain_text("chapters with")
    report.get_by_role("link", name="Open “An Old Book”").click()
    expect(page.get_by_role("tree")).to_contain_text("Two")
    assert "An Old Book" in [one.title for one in workspace.projects()]


def test_a_picture_is_called_a_picture(open_page: OpenPage, story: ProjectHandle, tmp_path: Path) -> None:
    file = tmp_path / "cover.jpg"
    file.write_bytes(b"\xff\xd8\xff\xe0\0\x10JFIF\0" + bytes(range(256)) * 4)
    page = open_page(f"#/{story.id}/files")
    drop(page, file)
    said = page.get_by_role("alert")
    expect(said).to_contain_text("cover.jpg: it is a picture.")
    expect(said).to_contain_text("Markdown, text, EPUB")
    expect(page.get_by_role("button", name="Bring it in")).to_have_count(0)


def test_what_is_taken_back_after_an_import_is_that_import(
    open_page: OpenPage, story: ProjectHandle, tmp_path: Path
) -> None:
    file = tmp_path / "More.md"
    file.write_text("# More\n\n## Rain\n\nIt rained.\n", "utf-8")
    page = open_page(f"#/{story.id}/files")
    drop(page, file)
    page.get_by_label("Add its chapters to this book").check()
    page.get_by_role("button", name="Bring it in").click()
    report = page.get_by_role("status", name="What came in")
    expect(report).to_contain_text("chapter")
    story.constraints.add("Nobody whistles.")  # a later change, made elsewhere
    report.get_by_role("button", name="Take it back").click()
    expect(page.get_by_text("Taken back: import of More.md")).to_be_visible()
    expect(report).to_have_count(0)
    assert "Rain" not in [one.title for one in story.chapters.list_chapters()]
    assert "Nobody whistles." in [one.constraint.text for one in story.constraints.list_constraints()]


def test_a_newer_version_of_the_book_changes_what_differs_after_a_preview(
    open_page: OpenPage, story: ProjectHandle, tmp_path: Path
) -> None:
    file = tmp_path / "newer.md"
    story.export(file)
    file.write_text(file.read_text("utf-8").replace("kelp", "weed"), "utf-8")
    page = open_page(f"#/{story.id}/files")
    page.get_by_label("Choose a file").set_input_files(file)
    expect(page.get_by_text(re.compile(r"\d+ of \d+ chapters would change"))).to_be_visible()
    page.get_by_role("button", name="Bring it in").click()
    expect(page.get_by_role("status", name="What came in")).to_contain_text("chapters changed")
    assert story.chapters.find_words("kelp") == []
    page.get_by_role("button", name="Take it back").click()
    expect(page.get_by_text("Taken back: update from newer.md")).to_be_visible()
    assert story.chapters.find_words("kelp") != []


@pytest.mark.parametrize(("button", "ending"), [("DOCX", "docx"), ("EPUB", "epub"), ("Plain text", "txt")])
def test_the_manuscript_is_taken_out(open_page: OpenPage, story: ProjectHandle, button: str, ending: str) -> None:
    page = open_page(f"#/{story.id}/files")
    with page.expect_download() as started:
        page.get_by_role("button", name=button).click()
    assert started.value.suggested_filename == f"the-lantern-coast.{ending}"
    assert started.value.path().stat().st_size > 1000


def test_a_save_is_made_looked_into_and_loaded_beside_the_book(
    open_page: OpenPage, workspace: Workspace, story: ProjectHandle, tmp_path: Path
) -> None:
    page = open_page(f"#/{story.id}/files")
    with page.expect_download() as started:
        page.get_by_role("button", name="Save", exact=True).click()
    save = tmp_path / started.value.suggested_filename
    started.value.save_as(save)
    page.get_by_label("Choose a file").set_input_files(save)
    preview = page.get_by_role("region", name="This save would bring")
    expect(preview).to_contain_text("The Lantern Coast")
    expect(preview).to_contain_text("There is a book of this title already.")
    preview.get_by_role("button", name="Load").click()
    expect(page.get_by_role("status", name="What came in")).to_contain_text("is loaded")
    assert [one.title for one in workspace.projects()] == ["The Lantern Coast"] * 2


def test_a_file_that_is_none_of_these_is_refused_in_a_sentence(
    open_page: OpenPage, story: ProjectHandle, tmp_path: Path
) -> None:
    file = tmp_path / "broken.fabula"
    file.write_bytes(b"nothing of the kind")
    page = open_page(f"#/{story.id}/files")
    drop(page, file)
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_role("button", name="Load")).to_have_count(0)


def test_books_join_a_series_and_are_put_in_order(
    open_page: OpenPage, workspace: Workspace, story: ProjectHandle
) -> None:
    second = workspace.create_project("The Return")
    page = open_page(f"#/{story.id}/files/series")
    page.get_by_label("New series").fill("The Coast")
    page.get_by_role("button", name="Create and join").click()
    expect(page.get_by_role("heading", name="The Coast")).to_be_visible()
    workspace.join_series(second.id, "The Coast")
    page.reload()
    page.get_by_role("button", name="Move “The Return” forward").click()
    expect(page.get_by_role("listitem").first).to_contain_text("The Return")
    assert [one.title for one in workspace.list_books("The Coast")] == ["The Return", "The Lantern Coast"]
    page.get_by_role("button", name="Leave the series").click()
    expect(page.get_by_text("This book belongs to no series.")).to_be_visible()


def test_a_name_is_changed_across_the_book_after_every_place_was_shown(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    page = open_page(f"#/{story.id}/files/rename")
    page.get_by_label("Name now").fill("Hope Tarnn")
    page.get_by_label("New name").fill("Faith Tarn")
    page.get_by_role("button", name="Show every place").click()
    expect(page.get_by_role("alert")).to_contain_text("Hope Tarn")
    page.get_by_label("Name now").fill("Hope Tarn")
    page.get_by_role("button", name="Show every place").click()
    expect(page.locator("del").first).to_have_text("Hope Tarn")
    page.get_by_role("button", name=re.compile("^Rename at")).click()
    expect(page.get_by_text("Hope Tarn is Faith Tarn now.")).to_be_visible()
    assert story.codex.find("Faith Tarn").name == "Faith Tarn"
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Taken back.")).to_be_visible()
    page.get_by_label("Name now").fill("Hope Tarn")
    page.get_by_label("New name").fill("Joy Tarn")
    page.get_by_role("button", name="Show every place").click()
    expect(page.locator("del").first).to_have_text("Hope Tarn")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious_is_wrong_with_files(open_page: OpenPage, story: ProjectHandle, theme: str) -> None:
    for tab, shown in (("files", "Take out"), ("series", "New series"), ("rename", "Name now")):
        page = open_page(f"#/{story.id}/files/{tab}", theme=theme, width=360)
        expect(page.get_by_text(shown).first).to_be_visible()
        assert find_problems(page) == []
