"""What another window, another person or a job changes appears without a reload, and nothing that is typed is lost."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from fabula.workspace.project import ProjectHandle
from tests.page.conftest import OpenPage
from tests.page.test_axe import find_problems
from tests.page.test_desk import open_chapter, show_end, type_at_end, wait_saved, wait_text


def keep_unsaved(page: Page) -> None:
    """Let no text of a chapter reach the server."""
    page.route(
        "**/api/projects/*/chapters/*",
        lambda route: route.abort() if route.request.method == "PUT" else route.fallback(),
    )


def test_what_two_other_windows_write_appears_in_a_chapter_that_is_open(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    reading = open_chapter(open_page, story)
    show_end(reading)
    beside = reading.context.new_page()  # shares the stream of the first window
    beside.goto(reading.url)
    show_end(beside)
    other = open_chapter(open_page, story)
    type_at_end(other, " Rain came.")
    for page in (reading, beside):
        expect(page.locator(".cm-content")).to_contain_text("Rain came.")
    reading.close()  # the second window goes on with a stream of its own
    type_at_end(other, " Then snow.")
    expect(beside.locator(".cm-content")).to_contain_text("Then snow.")


def test_a_chapter_that_is_changed_elsewhere_while_it_is_edited_says_so_and_offers_both(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    before = story.chapters.read("ch-06").text
    page, other = open_chapter(open_page, story), open_chapter(open_page, story)
    show_end(other)
    keep_unsaved(page)
    type_at_end(page, " She left.")
    type_at_end(other, " She stayed.")  # before the first window has tried to save, also on a busy machine
    wait_saved(other)
    expect(page.get_by_role("alert")).to_contain_text("changed elsewhere while you write here")
    page.keyboard.type(" For good.")  # what is typed goes on
    assert find_problems(page) == []
    page.get_by_role("button", name="Look at both").click()
    dialog = page.get_by_role("dialog", name="This chapter was changed elsewhere")
    expect(dialog).to_contain_text("She stayed.")
    expect(dialog).to_contain_text("She left. For good.")
    page.unroute_all()
    dialog.get_by_role("button", name="Keep both, one after the other").click()
    wait_text(story, "ch-06", before + " She stayed. She left. For good.")
    expect(other.locator(".cm-content")).to_contain_text("For good.")


def test_a_sentence_of_two_windows_of_one_browser_outlives_a_reload(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_chapter(open_page, story)
    beside = page.context.new_page()
    beside.goto(page.url)
    show_end(beside)
    keep_unsaved(beside)
    type_at_end(beside, " She left.")
    type_at_end(page, " She stayed.")
    wait_saved(page)
    type_at_end(page, " The door closed.")  # its drafts come and go beside those of the other window
    wait_saved(page)
    beside.reload()
    expect(beside.get_by_role("alert")).to_contain_text("changed elsewhere while you write here")
    type_at_end(beside, " For good.")
    beside.get_by_role("button", name="Look at both").click()
    dialog = beside.get_by_role("dialog", name="This chapter was changed elsewhere")
    expect(dialog).to_contain_text("She left. For good.")
    expect(dialog).to_contain_text("She stayed. The door closed.")


def test_changes_of_other_places_are_put_together_while_one_writes(open_page: OpenPage, story: ProjectHandle) -> None:
    before = story.chapters.read("ch-06").text
    page = open_chapter(open_page, story)
    keep_unsaved(page)
    type_at_end(page, " At the end.")
    story.chapters.write("ch-06", "At the start. " + before)
    expect(page.get_by_text("Both changes are in the text.")).to_be_visible()
    page.unroute_all()
    page.keyboard.type(" And on.")
    wait_text(story, "ch-06", "At the start. " + before + " At the end. And on.")


def test_chapters_that_are_added_moved_and_deleted_elsewhere_change_the_tree(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    page = open_chapter(open_page, story)
    tree = page.get_by_role("tree")
    made = story.chapters.add("The Return", text="Rain.")
    expect(tree.get_by_role("treeitem", name="The Return")).to_be_visible()
    story.chapters.rename(made.id, "The Second Return")
    expect(tree.get_by_role("treeitem", name="The Second Return")).to_be_visible()
    story.chapters.move(made.id, before="ch-01")
    expect(tree.get_by_role("treeitem").filter(has_text="The Second Return").locator(".number")).to_have_text("1")
    story.chapters.remove(made.id)
    expect(tree.get_by_role("treeitem", name="The Second Return")).to_have_count(0)


def test_rules_that_are_added_elsewhere_appear_and_what_is_typed_stays(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    page = open_page(f"#/{story.id}/constraints")
    page.get_by_role("button", name="New constraint").click()
    page.get_by_label("What must hold").fill("Nobody wh")
    story.constraints.add("No one ever swims.")
    expect(page.locator("main li", has_text="No one ever swims.")).to_have_count(1)
    expect(page.get_by_label("What must hold")).to_have_value("Nobody wh")


def test_entries_that_are_changed_elsewhere_appear(open_page: OpenPage, story: ProjectHandle) -> None:
    entry = story.codex.find("Mara")
    page = open_page(f"#/{story.id}/codex/{entry.id}")
    expect(page.get_by_role("heading", name=entry.name, exact=True)).to_be_visible()
    story.codex.edit(entry.id, description="Counts the ships at night.")
    expect(page.get_by_text("Counts the ships at night.").first).to_be_visible()
    story.codex.add("Odile Marsh", kind="character")
    expect(page.get_by_role("listbox").get_by_role("option", name="Odile Marsh")).to_be_visible()


def test_what_is_said_elsewhere_appears_in_a_conversation(open_page: OpenPage, story: ProjectHandle) -> None:
    chat = story.chat.start(["Mara Venn"], title="At night")
    page = open_page(f"#/{story.id}/talk/{chat.record.id}")
    field = page.get_by_label(re.compile("Say something"))
    field.fill("Half a sen")
    story.conversations.record(chat.record.id, "Is the lamp lit?", speaker="Mara Venn")
    expect(page.get_by_role("log")).to_contain_text("Is the lamp lit?")
    expect(field).to_have_value("Half a sen")
