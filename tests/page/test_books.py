"""The list of books in a real browser: titles and languages, and samples that are opened again."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect

from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.page.conftest import OpenPage
from tests.page.test_axe import find_problems


def test_the_title_and_the_language_of_a_book_are_changed_from_home_and_in_its_settings(
    open_page: OpenPage, workspace: Workspace, story: ProjectHandle
) -> None:
    page = open_page()
    page.get_by_role("button", name="Change the title or language of “The Lantern Coast”").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Title of the book").fill("Harrow Light")
    assert find_problems(page) == []
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_role("link", name=re.compile("Harrow Light"))).to_be_visible()
    page.goto(f"{page.url.split('#')[0]}#/{story.id}/settings")
    form = page.get_by_role("region", name="This book")
    form.get_by_label("Title of the book").fill("The Lamp")
    form.get_by_label("Language of the book").select_option("zh")
    form.get_by_role("button", name="Save").click()
    expect(page.locator("header .book")).to_have_text("The Lamp")
    expect(page.locator("header .book")).to_have_attribute("lang", "zh-CN")
    found = next(one for one in workspace.projects() if one.id == story.id)
    assert (found.title, found.language) == ("The Lamp", "zh")


def test_a_book_that_is_created_has_the_language_of_the_page_as_it_is_then(
    open_page: OpenPage, workspace: Workspace
) -> None:
    page = open_page("", locale="zh-CN")
    page.get_by_role("button", name="English").click()
    page.get_by_label("Title", exact=True).fill("Salt")
    page.get_by_role("button", name="Create").click()
    expect(page.locator("header .book")).to_have_text("Salt")
    assert [(one.title, one.language) for one in workspace.projects()] == [("Salt", "en")]


def test_a_sample_that_stands_under_your_books_is_opened_and_not_copied(
    open_page: OpenPage, workspace: Workspace, story: ProjectHandle
) -> None:
    page = open_page()
    page.get_by_role("button", name="Open “The Lantern Coast”").click()
    expect(page).to_have_url(re.compile(story.id))
    assert len(workspace.projects()) == 1
    page.get_by_role("link", name="Fabula").click()
    page.get_by_role("button", name="Make another copy of “The Lantern Coast”").click()
    expect(page.locator("header .book")).to_have_text("The Lantern Coast")
    assert len(workspace.projects()) == 2


def test_verbs_of_other_views_are_found_by_name(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/constraints")
    expect(page.get_by_role("button", name="New constraint")).to_be_visible()  # the book is open
    for words, place in (("new entry", "codex/new"), ("rename some", "files/rename"), ("title of", "settings")):
        page.keyboard.press("Control+k")
        page.get_by_role("combobox", name="What would you like to do?").fill(words)
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(f"{story.id}/{place}$"))
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="What would you like to do?").fill("new conv")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="New conversation")).to_be_visible()


def test_a_narrow_page_begins_with_the_list_where_nothing_is_open(open_page: OpenPage, story: ProjectHandle) -> None:
    story.chat.start(["Mara Venn"], title="Pier")
    page = open_page(f"#/{story.id}/talk", width=360, height=740)
    page.get_by_role("option", name=re.compile("Pier")).click()
    expect(page.get_by_role("log")).to_be_visible()
    page = open_page(f"#/{story.id}/codex", width=360, height=740)
    page.get_by_role("option", name=re.compile("Mara Venn")).click()
    expect(page.get_by_role("heading", name="Mara Venn")).to_be_visible()
    page.goto(f"{page.url.split('#')[0]}#/{story.id}/memory")
    expect(page.get_by_role("tab", name="About you")).to_be_in_viewport(ratio=1)
    page.goto(f"{page.url.split('#')[0]}#/{story.id}/timeline")
    words = page.locator(".rows .what").first
    expect(words).to_be_visible()
    assert (words.bounding_box() or {"width": 0})["width"] > 200


def test_an_import_says_what_came_in(open_page: OpenPage, tmp_path: Path) -> None:
    file = tmp_path / "tide.md"
    file.write_text("# One\n\nThe tide was out.\n\n# Two\n\nIt came in.\n", encoding="utf-8")
    page = open_page()
    page.locator('input[type="file"]').set_input_files(file)
    expect(page.get_by_text("“tide” came in with 2 chapters and 7 words.")).to_be_visible()
