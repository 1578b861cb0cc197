"""Conversations in a real browser: several speakers, mentions, branches, hidden roles, the five tabs of the history."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from fabula.workspace.project import ProjectHandle
from tests.page.conftest import OpenPage
from tests.page.test_axe import find_problems


def say(page: Page, text: str) -> None:
    page.get_by_label(re.compile("Say something")).fill(text)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("button", name="Send")).to_be_visible()


def test_two_speakers_answer_and_a_reply_is_given_again(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/talk")
    page.get_by_role("button", name="New conversation").first.click()
    page.get_by_role("checkbox", name=re.compile("Mara Venn")).check()
    page.get_by_role("checkbox", name=re.compile("Hope Tarn")).check()
    page.get_by_role("button", name="Start").click()
    log = page.get_by_role("log")
    expect(log).to_be_visible()
    say(page, "Who lit the lamp?")
    expect(log.locator("section")).to_have_count(3)
    box = page.get_by_label(re.compile("Say something"))
    box.press_sequentially("And you, @Ma")
    page.get_by_role("listbox", name="Present").get_by_text("Mara Venn").click()
    expect(box).to_have_value("And you, @Mara Venn ")
    box.press("Enter")
    expect(log.locator("section")).to_have_count(5)
    page.get_by_role("button", name="Again").click()
    expect(log.get_by_text("2 of 2")).to_be_visible()
    log.get_by_role("button", name="Previous alternative").click()
    expect(log.get_by_text("1 of 2")).to_be_visible()
    page.get_by_role("tab", name="Knows").click()
    page.get_by_label("Whose knowledge").select_option(label="Mara Venn")
    expect(page.locator("aside.right article").first).to_be_visible()


def test_a_conversation_is_answered_by_the_model_that_was_chosen_for_it(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    for title in ("Pier", "Quay"):
        story.chat.start(["Mara Venn"], title=title)
    page = open_page(f"#/{story.id}/talk/Pier")
    choice = page.get_by_label("Which model answers")
    expect(choice).to_have_value("")
    expect(choice.locator("option")).to_contain_text(["Demo", "No model"])  # nothing else has a key here
    choice.select_option("clipboard")
    expect(page.locator("aside.right .who")).to_contain_text("No model is connected")
    say(page, "Who lit the lamp?")
    page.get_by_role("textbox", name=re.compile("answer of Mara Venn")).fill("I lit it.")
    page.reload()
    expect(page.get_by_label(re.compile("^No model is connected"))).to_have_value(re.compile("Who lit the lamp"))
    expect(page.get_by_role("textbox", name=re.compile("answer of Mara Venn"))).to_have_value("I lit it.")
    page.get_by_role("button", name=re.compile("answer of Mara Venn")).click()
    expect(page.get_by_role("log").locator("section").last).to_contain_text("I lit it.")
    page.reload()
    expect(choice).to_have_value("clipboard")
    page.goto(re.sub("Pier$", "Quay", page.url))
    expect(choice).to_have_value("")  # another conversation has a choice of its own
    say(page, "Who lit the lamp?")
    expect(page.get_by_role("log").locator("section")).to_have_count(2)
    page.goto(re.sub("Quay$", "Pier", page.url))
    expect(choice).to_have_value("clipboard")
    choice.select_option("")
    page.get_by_role("button", name="Again").click()
    expect(page.get_by_role("log").get_by_text("2 of 2")).to_be_visible()


def test_a_conversation_without_a_title_goes_by_who_talks_and_its_first_words(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    made = story.chat.start(["Mara Venn"])
    player = next(one.name for one in made.present if one.id.startswith("player:"))
    story.conversations.record(made.record.id, "Who lit the lamp?", speaker=player)
    page = open_page(f"#/{story.id}/talk")
    page.get_by_role("option", name="Mara Venn: “Who lit the lamp?”").click()
    expect(page.get_by_role("heading", name="Mara Venn: “Who lit the lamp?”")).to_be_visible()


def test_roles_of_a_werewolf_round_stay_hidden_until_they_are_asked_for(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    people = ["Mara Venn", "Hope Tarn", "Will Tarn", "Grace Odell"]
    story.chat.start(participants=people, mode="werewolf", title="Night")
    page = open_page(f"#/{story.id}/talk/Night")
    log = page.get_by_role("log")
    role = re.compile(r"You are (a|the) (werewolf|villager|seer)")
    expect(log).to_contain_text("you lead the game")
    say(page, "Night falls.")
    expect(log.get_by_text("Told in secret.")).to_have_count(4)
    expect(page.get_by_text(role)).to_have_count(0)
    page.get_by_role("tab", name="State").click()
    expect(page.get_by_label("How they talk")).to_have_value("werewolf")
    expect(page.locator("aside.right")).to_contain_text("you lead the game")
    expect(page.locator("aside.right table").filter(has_text="werewolf")).to_have_count(0)
    page.locator("aside.right").get_by_role("button", name="Show hidden roles").click()
    expect(page.locator("aside.right table").filter(has_text="werewolf")).to_be_visible()
    expect(log.get_by_text(role)).to_have_count(4)
    page.get_by_role("button", name="Cover the roles again").click()
    expect(page.get_by_text(role)).to_have_count(0)


def test_a_conversation_is_deleted_after_a_question_and_no_error_is_left(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    story.chat.start(["Mara Venn"], title="Pier")
    page = open_page(f"#/{story.id}/talk/Pier")
    say(page, "Who lit the lamp?")
    expect(page.locator("aside.right article").first).to_be_visible()  # the bar is about this conversation
    page.get_by_role("button", name="Delete the conversation").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete the conversation").click()
    expect(page.get_by_text("“Pier” was deleted.")).to_be_visible()
    page.wait_for_timeout(1500)  # the change comes back to the page, which loads again what is shown
    expect(page.get_by_text("There is no conversation")).to_have_count(0)
    story.constraints.add("Nobody whistles.")  # a later change, which stays
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("option", name=re.compile("Pier"))).to_be_visible()
    assert "Nobody whistles." in [one.constraint.text for one in story.constraints.list_constraints()]


def test_points_of_a_quiz_are_given_as_the_page_says(open_page: OpenPage, story: ProjectHandle) -> None:
    story.chat.start(["Mara Venn", "Hope Tarn"], mode="quiz", title="Quiz")
    page = open_page(f"#/{story.id}/talk/Quiz")
    page.get_by_role("tab", name="State").click()
    expect(page.locator("aside.right")).to_contain_text("Write “@Hope Tarn +1” to give a point")
    expect(page.get_by_text("Nobody has points yet.")).to_be_visible()
    say(page, "@Hope Tarn +1")
    expect(page.locator("aside.right table")).to_contain_text("Hope Tarn")


@pytest.fixture
def talk(story: ProjectHandle) -> str:
    """A player and a character who talked alone, and a conversation with one more."""
    story.participants.add("Ann", namespace="player", key="ann")
    for name in ("Mara", "Bo"):
        story.participants.add(name, namespace="pawn", key=name.lower())
    story.conversations.start(["Ann", "Mara"], title="Pier")
    for number in range(4):
        story.conversations.record("Pier", f"Line {number}.", speaker="Ann" if number % 2 else "Mara")
    story.conversations.start(["Ann", "Mara", "Bo"], title="Quay")
    return "player:ann,pawn:mara"


def test_the_five_tabs_of_the_history(open_page: OpenPage, story: ProjectHandle, talk: str) -> None:
    page = open_page(f"#/{story.id}/history")
    page.get_by_label("Participants").fill("Ann")
    page.get_by_label("Add a participant").select_option("pawn:mara")
    page.get_by_role("button", name="Load").click()
    lines = page.get_by_role("listitem").filter(has_text="Line")
    expect(lines).to_have_count(4)
    lines.nth(0).get_by_role("button", name="Edit").click()
    page.get_by_label("Text").fill("Line nought.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Line nought.")).to_be_visible()
    lines.filter(has_text="Line 3.").get_by_role("button", name="Delete").click()
    expect(lines).to_have_count(3)
    page.get_by_role("button", name="Undo").click()
    expect(lines).to_have_count(4)
    page.get_by_label("Find words in this conversation").fill("nought")
    page.get_by_role("button", name="Find", exact=True).click()
    expect(page.get_by_text("1 message found")).to_be_visible()

    page.get_by_role("tab", name="Recap").click()
    expect(page.get_by_role("button", name="Tell it anew")).to_be_visible()

    page.get_by_role("tab", name="Fixed prompts").click()
    page.get_by_label("Add for Mara").fill("Never sells the barometer.")
    page.get_by_role("button", name="Add", exact=True).last.click()
    expect(page.get_by_text("Never sells the barometer.")).to_be_visible()

    page.get_by_role("tab", name="Related conversations").click()
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Quay").click()
    expect(opened.value.get_by_text("Nothing was said yet.")).to_be_visible()
    opened.value.get_by_role("tab", name="Biography").click()
    expect(opened.value.get_by_text("A biography belongs to one player and one character")).to_be_visible()

    page.get_by_role("tab", name="Biography").click()
    page.get_by_label("Add for Mara").fill("Grew up in the tower.")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_text("Grew up in the tower.")).to_be_visible()
    assert [one.text for one in story.participant_texts.list_texts("biography", "Mara")] == ["Grew up in the tower."]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious_is_wrong_with_conversations(
    open_page: OpenPage, story: ProjectHandle, talk: str, theme: str
) -> None:
    page = open_page(f"#/{story.id}/history?with={talk}", theme=theme)
    expect(page.get_by_text("Line 1.")).to_be_visible()
    assert find_problems(page) == []
    page = open_page(f"#/{story.id}/talk/Pier", theme=theme, width=390)
    expect(page.get_by_role("log").locator("section").first).to_be_visible()
    assert find_problems(page) == []


def test_a_conversation_with_a_card_begins_with_the_greeting_that_is_picked(
    open_page: OpenPage, story: ProjectHandle, tmp_path: Path
) -> None:
    card = {
        "spec": "chara_card_v2",
        "spec_version": "2.0",
        "data": {
            "name": "Odile Marsh",
            "description": "Keeps the ferry.",
            "first_mes": "The ferry leaves now, {{user}}.",
            "alternate_greetings": ["{{char}} says nothing.", "You again."],
        },
    }
    file = tmp_path / "odile.json"
    file.write_text(json.dumps(card), "utf-8")
    made = story.participants.import_card(file).participant
    page = open_page(f"#/{story.id}/talk?with={made.id}")
    expect(page.get_by_role("radio", name=re.compile("The ferry leaves now, you"))).to_be_checked()
    page.get_by_role("radio", name=re.compile("Odile Marsh says nothing")).check()
    page.get_by_role("button", name="Start").click()
    log = page.get_by_role("log")
    expect(log).to_contain_text("Odile Marsh says nothing.")
    expect(log.get_by_text("2 of 3")).to_be_visible()
    log.get_by_role("button", name="Next alternative").click()
    expect(log).to_contain_text("You again.")


def test_branches_stand_as_a_tree_with_the_path_of_the_conversation(
    open_page: OpenPage, story: ProjectHandle, talk: str
) -> None:
    pier = story.conversations
    first = pier.read_page("Pier", limit=100).messages[0]
    for words in ("No.", "Perhaps."):  # other ways to go on from the first message
        pier.go_back("Pier", first.id)
        pier.record("Pier", words, speaker="Ann")
        pier.record("Pier", f"Why {words.lower()}", speaker="Mara")
    said = pier.read_page("Pier", limit=100).messages[-1]
    pier.go_back("Pier", said.parent_id or "")
    pier.record("Pier", "Never.", speaker="Mara")
    page = open_page(f"#/{story.id}/talk/Pier")
    page.get_by_role("tab", name="Branches").click()
    rows = page.locator("aside.right ol").get_by_role("listitem")
    expect(rows).to_have_count(5)
    on_path = page.locator("aside.right ol [aria-current=true]")
    expect(on_path).to_contain_text(["Perhaps.", "Never."])
    page.get_by_role("button", name=re.compile("No[.]$")).click()
    expect(page.get_by_role("log")).to_contain_text("Why no.")
    expect(on_path).to_contain_text(["No."])


def test_a_book_opened_at_a_conversation_does_not_open_its_desk(open_page: OpenPage, story: ProjectHandle) -> None:
    story.chat.start(["Mara Venn"], title="Pier")
    page = open_page()
    page.wait_for_load_state("networkidle")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    def send_late(route: Route) -> None:
        time.sleep(1)  # in which the book is loaded
        route.continue_()

    page.route(re.compile("/assets/Talk"), send_late)
    page.goto(f"{page.url.partition('#')[0]}#/{story.id}/talk/Pier")
    expect(page.get_by_role("log", name="Pier")).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert [url for url in asked if "/chapters/" in url] == []


def test_what_a_prompt_leaves_out_of_a_conversation_is_counted_with_the_reason(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    made = story.chat.start(["Mara Venn"], title="Pier")
    player = next(one.name for one in made.present if one.id.startswith("player:"))
    for number in range(40):
        story.conversations.record(made.record.id, f"Line {number}. " + "The fog came in. " * 40, speaker=player)
        story.conversations.record(made.record.id, f"Answer {number}.", speaker="Mara Venn")
    page = open_page(f"#/{story.id}/talk/Pier")
    panel = page.get_by_role("region", name="Not in the prompt for Mara Venn")
    expect(panel.get_by_role("status").first).to_contain_text(re.compile(r"^\d+ messages: "))
    panel.get_by_text("Show which ones").first.click()
    expect(panel.locator("article").first).to_be_visible()
    expect(page.get_by_role("log")).to_contain_text("Mara Venn reads from here on")
