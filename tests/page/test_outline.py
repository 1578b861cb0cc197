"""The tree and the outline in a real browser: synopses, beats, parts with names."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from fabula.workspace.project import ProjectHandle
from tests.page.conftest import OpenPage


def test_a_synopsis_is_read_beside_the_tree_and_mended_beside_the_chapter(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    story.synopses.write("ch-06", "Mara finds the leaf.")
    story.chapters.write("ch-06", "Everything is different now.")
    page = open_page(f"#/{story.id}/write/ch-05")
    expect(page.locator(".cm-content")).to_be_focused()
    row = page.get_by_role("treeitem").filter(has_text="The Cut Leaf")
    row.hover()
    card = page.get_by_role("tooltip")
    expect(card).to_contain_text("Mara finds the leaf.")
    expect(card).to_contain_text("Written by hand. Out of date")
    page.locator(".brand").hover()
    expect(card).to_have_count(0)
    row.focus()
    expect(card).to_be_visible()
    page.keyboard.press("Enter")
    page.get_by_role("tab", name="Beats").click()
    panel = page.locator("aside.right")
    expect(panel.locator(".synopsis.stale")).to_contain_text("Mara finds the leaf.")
    panel.get_by_role("button", name=re.compile("^Edit the synopsis")).click()
    panel.get_by_label(re.compile("^Synopsis of")).fill("Nothing stayed as it was.")
    panel.get_by_role("button", name="Save").click()
    expect(panel.locator(".synopsis")).to_contain_text("Nothing stayed as it was.")
    expect(panel.locator(".synopsis.stale")).to_have_count(0)
    (kept,) = story.synopses.read(["ch-06"])
    assert (kept.text, kept.state, kept.origin) == ("Nothing stayed as it was.", "fresh", "hand")
    panel.get_by_role("button", name=re.compile("^Delete the synopsis")).click()
    expect(panel.locator(".synopsis")).to_contain_text("No synopsis yet.")
    panel.get_by_role("button", name=re.compile("from its own sentences")).click()
    expect(panel.locator(".synopsis")).to_contain_text("Made of the chapter’s own sentences.")


def test_beats_are_reworded_and_put_in_order_across_the_book(open_page: OpenPage, story: ProjectHandle) -> None:
    for beat in story.outline.list_beats("ch-06"):
        story.outline.remove(beat.id)
    for text in ("The bell rings.", "Nobody answers."):
        story.outline.add("ch-06", text)
    page = open_page(f"#/{story.id}/outline/ch-06")
    chapter = page.get_by_role("region", name=re.compile("The Cut Leaf"))
    expect(chapter).to_be_in_viewport()
    assert page.get_by_role("region").count() > 1
    first = chapter.get_by_label("Beat 1")
    first.fill("The bell rings under water.")
    first.press("Enter")
    chapter.get_by_role("button", name="Move up: Nobody answers.").click()
    expect(first).to_have_value("Nobody answers.")
    second = chapter.get_by_label("Beat 2")
    for key, before, after in (("Alt+ArrowDown", first, second), ("Alt+ArrowUp", second, first)):
        before.focus()
        page.keyboard.press(key)
        expect(after).to_have_value("Nobody answers.")
        expect(after).to_be_focused()
    chapter.get_by_label("Add a beat to “The Cut Leaf”").fill("Mara hides.")
    chapter.get_by_label("Add a beat to “The Cut Leaf”").press("Enter")
    expect(chapter.get_by_label("Beat 3")).to_have_value("Mara hides.")
    texts = [one.text for one in story.outline.list_beats("ch-06")]
    assert texts == ["Nobody answers.", "The bell rings under water.", "Mara hides."]


def test_a_part_has_a_name_and_moves_as_one(open_page: OpenPage, story: ProjectHandle) -> None:
    parts = [story.chapters.add(title, kind="part") for title in ("Sand", "Salt")]
    for number, part in enumerate(parts, start=1):
        story.chapters.move(f"ch-0{number}", into=part.id)
    page = open_page(f"#/{story.id}/write/ch-06")
    expect(page.locator(".cm-content")).to_be_focused()
    page.get_by_role("treeitem", name="Sand").focus()
    page.keyboard.press("Alt+ArrowDown")
    expect(page.get_by_text("“Sand” was moved.")).to_be_visible()
    titles = [one.title for one in story.chapters.list_chapters()]
    assert titles.index("Salt") < titles.index("Sand")
    page.get_by_role("treeitem", name="Sand").focus()
    page.keyboard.press("F2")
    page.get_by_label("Name of the part").fill("Sand and Wind")
    page.get_by_role("button", name="Rename").click()
    page.get_by_role("treeitem", name="Sand and Wind").focus()
    page.keyboard.press("Shift+Tab")
    page.get_by_role("button", name="Delete “Sand and Wind” from the book").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("treeitem", name="Sand and Wind")).to_have_count(0)
    assert "ch-06" in [one.id for one in story.chapters.list_chapters()]
