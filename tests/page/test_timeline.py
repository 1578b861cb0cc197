"""The timeline in a real browser: both orders, who knows a secret when, the keyboard, and a long book."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from fabula.codex import Entry, edits
from fabula.manuscript import documents
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.page.conftest import OpenPage
from tests.page.test_axe import find_problems


def test_the_timeline_shows_what_becomes_true_and_who_knows_it_when(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/timeline")
    rows = page.get_by_role("tree").get_by_role("treeitem")
    expect(rows.filter(has_text="What the Landing Knew")).to_be_visible()
    expect(page.locator("main header text").first).to_be_visible()
    page.get_by_label("Whose knowledge").select_option(label="Mara Venn")
    expect(rows.filter(has_text="not known to Mara Venn").first).to_be_visible()
    rows.filter(has_text="not known to Mara Venn").first.click()
    expect(page.get_by_role("region", name="Who knows it")).to_be_visible()
    assert "eyes=mara" in page.url
    page.get_by_label("Find a name or a fact").fill("Hope Tarn")
    expect(rows.filter(has_text="Hope Tarn").first).to_be_visible()


@pytest.mark.parametrize("width", [360, 900, 1024, 1180, 1440, 1900])
@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
def test_the_signs_stand_beside_no_part_of_the_picture(
    open_page: OpenPage, story: ProjectHandle, workspace: Workspace, width: int, locale: str
) -> None:
    book = story if locale == "en-GB" else workspace.copy_sample("wugang")
    page = open_page(f"#/{book.id}/timeline", width=width, locale=locale)
    expect(page.locator("main header text").first).to_be_visible()
    overlaps = page.evaluate(
        """() => {
            const legend = document.querySelector("main header ul").getBoundingClientRect();
            const header = document.querySelector("main header").getBoundingClientRect();
            const names = [...document.querySelectorAll("main header text")].map((one) => one.getBoundingClientRect());
            return names.filter((one) => one.top < legend.bottom - 1 || one.right > header.right).length;
        }"""
    )
    assert overlaps == 0


def test_a_chapter_that_happens_elsewhere_stands_there_in_the_order_of_the_story(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    page = open_page(f"#/{story.id}/timeline/c%3Ach-04")
    page.get_by_label("When it happens").select_option(label="before everything else")
    chapters = page.get_by_role("tree").locator("[aria-level='1']")
    expect(chapters.filter(has_text="The Inspector's Hand")).to_contain_text("happens before everything else")
    expect(page.locator("path.head").first).to_be_attached()
    page.get_by_role("tab", name="As it happens").click()
    expect(chapters.nth(1)).to_contain_text("The Inspector's Hand")
    expect(chapters.nth(1)).to_contain_text("read after Chapter 3")
    page.get_by_role("button", name="Undo").click()
    expect(chapters.nth(1)).to_contain_text("The Fires on the Strand")


def test_the_timeline_is_reached_by_keys_alone(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/timeline")
    row = page.get_by_role("tree").get_by_role("treeitem").first
    row.focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary", name="In detail").get_by_role("heading").first).to_be_visible()


def test_of_a_long_book_only_the_visible_part_is_drawn(open_page: OpenPage, workspace: Workspace) -> None:
    book = workspace.create_project("Long")
    with workspace.store.write(project=book.id) as tx:
        edits.create(tx, Entry(id="mara", type="character", name="Mara"))
        for number in range(2_000):
            documents.add(tx, f"Chapter {number}", text="Mara went on.")
    page = open_page(f"#/{book.id}/timeline")
    rows = page.get_by_role("tree").get_by_role("treeitem")
    expect(rows.first).to_be_visible(timeout=60_000)
    assert rows.count() < 100
    page.locator(".rows .box").evaluate("box => { box.scrollTop = box.scrollHeight; }")
    expect(rows.filter(has_text="Chapter 1999")).to_be_visible()
    assert rows.count() < 100


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious_is_wrong_with_the_timeline(open_page: OpenPage, story: ProjectHandle, theme: str) -> None:
    page = open_page(f"#/{story.id}/timeline/c%3Ach-03", theme=theme)
    expect(page.get_by_role("region", name="Who appears")).to_be_visible()
    assert find_problems(page) == []
