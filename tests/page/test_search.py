"""Search for half-remembered scenes in a real browser: by words, up to a place, and back to the text."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from fabula.workspace.project import ProjectHandle
from tests.page.conftest import OpenPage
from tests.page.test_axe import find_problems

LEDGER = "Grace slid the zephyrine ledger under the stove before Mr Tarn came in."


def test_a_half_remembered_scene_is_found_and_opened(open_page: OpenPage, story: ProjectHandle) -> None:
    text = story.chapters.read("ch-05").text
    story.chapters.write("ch-05", f"🕯🕯 {text}\n\n{LEDGER}")
    page = open_page(f"#/{story.id}/write")
    expect(page.locator(".cm-content")).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("search the story")
    page.keyboard.press("Enter")
    words = page.get_by_label("What do you remember of it?")
    expect(words).to_be_focused()
    page.keyboard.type("who hid the zephyrine ledgers")
    page.keyboard.press("Enter")
    found = page.get_by_role("main").get_by_role("listitem")
    expect(found.first).to_contain_text("The Fires on the Strand")
    expect(found.first).to_contain_text("it has zephyrine, ledger")
    expect(page.get_by_text(re.compile("by words"))).to_be_visible()
    expect(found.first.locator("mark").filter(has_text="ledger")).to_have_count(1)
    page.get_by_label("How far").select_option(label="up to the end of 2 · The Weight, as a reader knows it")
    expect(found.filter(has_text="zephyrine")).to_have_count(0)
    page.go_back()
    expect(found.first).to_contain_text("zephyrine")
    found.first.get_by_role("link").click()
    expect(page.get_by_label("Title of the chapter")).to_have_value("The Fires on the Strand")
    page.wait_for_function("words => getSelection().toString().includes(words)", arg=LEDGER)


def test_similar_passages_of_a_selection_are_listed_in_the_same_way(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/write/ch-02")
    expect(page.locator(".cm-name").first).to_be_visible()
    page.locator(".cm-content").press("Control+Home")
    expect(page.locator(".cm-content")).to_contain_text("Will Tarn")
    page.locator(".cm-line").first.click(click_count=3)
    page.get_by_role("button", name="Find similar passages").click()
    dialog = page.get_by_role("dialog", name="Similar passages")
    dialog.get_by_role("link").nth(1).click()
    expect(dialog).to_be_hidden()
    page.wait_for_function("() => getSelection().toString().length > 20")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious_is_wrong_with_the_search(open_page: OpenPage, story: ProjectHandle, theme: str) -> None:
    page = open_page(f"#/{story.id}/search?words=lamp", theme=theme)
    expect(page.locator("mark").first).to_be_visible()
    assert find_problems(page) == []


def test_what_was_said_is_found_and_opened_at_its_message(open_page: OpenPage, story: ProjectHandle) -> None:
    talk = story.chat.start(["Mara Venn"], title="At night").record.id
    for number in range(90):
        kettle = " The zephyrine kettle sang." if number == 7 else ""
        story.conversations.record(talk, f"{number} lamps were lit.{kettle}", speaker="Mara Venn")
    page = open_page(f"#/{story.id}/search?words=zephyrine+kettle")
    found = page.get_by_role("main").get_by_role("listitem")
    expect(found.first).to_contain_text("zephyrine kettle sang")
    found.first.get_by_role("link").click()
    expect(page.get_by_role("heading", name="At night")).to_be_visible()
    said = page.get_by_role("log").locator("section").filter(has_text="zephyrine")
    expect(said).to_be_in_viewport()
    expect(said).to_be_focused()
    page.get_by_label(re.compile("Say something")).fill("Which kettle?")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("log").locator("section").last).to_be_in_viewport()
    page.goto(f"{page.url.split('?')[0]}?at=nothing")
    expect(page.get_by_text("This message is no longer there.")).to_be_visible()
