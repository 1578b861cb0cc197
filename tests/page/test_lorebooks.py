"""Lorebooks in a real browser: entries, switches, limits, and why a text brings an entry in or not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from fabula.workspace.project import ProjectHandle
from tests.page.conftest import OpenPage
from tests.page.test_axe import find_problems


@pytest.fixture
def harbour(story: ProjectHandle) -> str:
    """A book of three entries."""
    book = story.lorebooks.create("Harbour")
    story.lorebooks.add_entry(book.id, {"key": ["lamp"], "comment": "The lamp", "content": "It burns whale oil."})
    story.lorebooks.add_entry(book.id, {"key": ["kelp"], "comment": "Kelp", "content": "It is burnt for soda."})
    story.lorebooks.add_entry(book.id, {"constant": True, "comment": "The sea", "content": "It is cold."})
    return book.id


def test_a_text_shows_which_entries_come_in_and_why_the_others_do_not(
    open_page: OpenPage, story: ProjectHandle, harbour: str
) -> None:
    page = open_page(f"#/{story.id}/lorebooks")
    page.locator("aside").get_by_label("Text", exact=True).fill("The lamp went out.")
    page.get_by_role("button", name="Try", exact=True).click()
    expect(page.get_by_role("region", name="2 entries come in")).to_contain_text("it is always on")
    out = page.get_by_role("region", name="1 stays out")
    expect(out).to_contain_text("none of its keys was found")
    page.get_by_role("checkbox", name="Switch on “The lamp”").click()
    expect(page.get_by_role("region", name="2 stay out")).to_contain_text("it is switched off")


def test_an_entry_is_made_changed_limited_and_deleted(open_page: OpenPage, story: ProjectHandle, harbour: str) -> None:
    page = open_page(f"#/{story.id}/lorebooks/{harbour}/new")
    page.get_by_label("Title").fill("The bell")
    page.get_by_label("Keys", exact=True).fill("bell\n/r[iu]ng/")
    page.locator("main").get_by_label("Text").fill("It hangs in the porch.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="The bell")).to_be_visible()
    page.get_by_text("In the story").click()
    page.get_by_label("From", exact=True).select_option("ch-03")
    page.get_by_label("Who knows it").select_option("mara")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    _, contents = story.lorebooks.read(harbour)
    made = contents.book.entries[-1]
    assert made.key == ("bell", "/r[iu]ng/")
    assert made.story is not None
    assert (made.story.since, made.story.known_to) == ("ch-03", ("mara",))
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("option", name="The bell")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("option", name="The bell")).to_be_visible()


def test_a_book_comes_from_a_file_and_is_switched_off(
    open_page: OpenPage, story: ProjectHandle, tmp_path: Path
) -> None:
    file = tmp_path / "isles.json"
    file.write_text(json.dumps({"entries": {"0": {"uid": 0, "key": ["Gull Rock"], "content": "A rock."}}}))
    page = open_page(f"#/{story.id}/lorebooks")
    expect(page.get_by_text("No lorebooks yet")).to_be_visible()
    page.locator('input[type="file"]').set_input_files(file)
    expect(page.get_by_role("heading", name="isles")).to_be_visible()
    page.get_by_role("checkbox", name="Use this book").click()
    expect(page.get_by_role("combobox", name="Lorebook")).to_contain_text("not in use")
    assert not story.lorebooks.list_lorebooks()[0].book.active


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious_is_wrong_with_lorebooks(
    open_page: OpenPage, story: ProjectHandle, harbour: str, theme: str
) -> None:
    page = open_page(f"#/{story.id}/lorebooks/{harbour}/0", theme=theme)
    page.locator("aside").get_by_label("Text", exact=True).fill("The lamp went out.")
    page.get_by_role("button", name="Try", exact=True).click()
    expect(page.get_by_role("region", name="2 entries come in")).to_be_visible()
    assert find_problems(page) == []
