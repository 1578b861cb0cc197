"""The history manager in a real browser: recaps that are out of date, in another order, edited and deleted; pages."""

from __future__ import annotations

import re
from itertools import count

import pytest
from playwright.sync_api import expect

from fabula.conversation.recaps import RecapInput, refresh_recaps
from fabula.conversation.recaps.model import RecapRules
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.page.conftest import OpenPage
from tests.page.test_axe import find_problems

ROUNDS = 8


@pytest.fixture
def pier(workspace: Workspace, story: ProjectHandle) -> str:
    """A conversation of some rounds, with a recap of every two."""
    assert workspace.store is not None
    settings = workspace.settings(story.id)
    settings.set("History.HistoryPageSize", 5)
    story.participants.ensure_player("Ann")
    story.participants.add("Bo", namespace="pawn", key="bo")
    made = story.conversations.start(["Ann", "Bo"], title="Pier")

    numbers = count(1)

    def write(recap: RecapInput) -> str:
        return f"They came to matter number {next(numbers)}."

    rules = RecapRules(rounds_per_summary=2, rounds_per_recap=2)
    for number in range(ROUNDS):
        story.conversations.record("Pier", f"Question {number}?", speaker="Ann")
        story.conversations.record("Pier", f"Answer {number}.", speaker="Bo")
        refresh_recaps(workspace.store, story.id, made.id, write_recap=write, rules=rules)
    return made.id


def test_fields_for_fixed_prompts_are_of_one_width_and_speak_to_the_person(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    story.chat.start(["Mara Venn", "Ambrose Reeve"], title="Pier")
    page = open_page(f"#/{story.id}/history/prompts?with=Mara Venn,Ambrose Reeve")
    expect(page.get_by_label("Reaches you only")).to_be_visible()
    fields = page.get_by_label(re.compile("^Add for"))
    expect(fields).to_have_count(3)
    assert len({fields.nth(index).evaluate("one => one.clientWidth") for index in range(3)}) == 1


def test_the_undo_of_a_deleted_message_brings_back_that_message(
    open_page: OpenPage, story: ProjectHandle, pier: str
) -> None:
    page = open_page(f"#/{story.id}/history/history?with=Ann,Bo")
    row = page.get_by_role("listitem").filter(has_text="Answer 7.")
    row.get_by_role("button", name="Delete").click()
    expect(row).to_have_count(0)
    story.constraints.add("Nobody whistles.")  # a later change, which stays
    page.get_by_role("button", name="Undo").click()
    expect(row).to_be_visible()
    assert len(story.conversations.read_page(pier, limit=100).messages) == 2 * ROUNDS


def test_what_was_found_stays_while_more_is_said_elsewhere(
    open_page: OpenPage, story: ProjectHandle, pier: str
) -> None:
    page = open_page(f"#/{story.id}/history/history?with=Ann,Bo")
    page.get_by_label("Find words in this conversation").fill("lantern")
    page.get_by_role("button", name="Find", exact=True).click()
    expect(page.get_by_text("0 messages found")).to_be_visible()
    story.conversations.record(pier, "A lantern was lit.", speaker="Bo")
    expect(page.get_by_text("1 message found")).to_be_visible()
    story.participants.add("Cleo", persona="A diver.")
    story.conversations.record(pier, "Nobody saw it.", speaker="Ann")
    page.wait_for_timeout(1_000)  # in which the page hears of both
    expect(page.get_by_text("1 message found")).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text="lantern")).to_have_count(1)


def test_a_recap_says_that_it_is_out_of_date_and_who_wrote_it(
    open_page: OpenPage, story: ProjectHandle, pier: str
) -> None:
    page = open_page(f"#/{story.id}/history/recap?with=Ann,Bo")
    rows = page.get_by_role("tabpanel").get_by_role("listitem")
    expect(rows.first).to_be_visible()
    expect(page.get_by_text("out of date")).to_have_count(0)
    first = story.conversations.read_page(pier, limit=100).messages[0]
    story.conversations.correct(pier, first.id, "Another question?")
    expect(rows.filter(has_text="out of date").first).to_be_visible()
    expect(page.get_by_text("of these are out of date")).to_be_visible()
    count = rows.count()
    rows.last.get_by_role("button", name="Edit").click()
    page.get_by_label("Text").fill("They quarrelled.")
    page.get_by_role("button", name="Save").click()
    expect(rows.last).to_contain_text("edited by hand")
    rows.last.get_by_role("button", name="Delete").click()
    expect(rows).to_have_count(count - 1)
    page.get_by_role("button", name="Undo").click()
    expect(rows).to_have_count(count)
    page.get_by_role("button", name="Tell it anew").click()
    expect(page.get_by_text("The recap was not written.").or_(page.get_by_text("being told anew"))).to_be_visible()


def test_recaps_are_put_in_another_order(open_page: OpenPage, story: ProjectHandle, pier: str) -> None:
    recaps = [one.id for one in story.recaps.list_recaps(pier) if one.kind == "recap"]
    assert len(recaps) > 1
    page = open_page(f"#/{story.id}/history/recap?with=Ann,Bo")
    rows = page.get_by_role("list", name="Recap, made of summaries").get_by_role("listitem")
    expect(rows).to_have_count(len(recaps))
    newest = rows.last.get_by_role("paragraph").inner_text()
    rows.last.get_by_role("button", name="Move up").click()
    expect(rows.nth(len(recaps) - 2)).to_contain_text(newest)
    after = [one.id for one in story.recaps.list_recaps(pier) if one.kind == "recap"]
    assert after == [*recaps[:-2], recaps[-1], recaps[-2]]


def test_the_history_is_read_a_page_at_a_time(open_page: OpenPage, story: ProjectHandle, pier: str) -> None:
    page = open_page(f"#/{story.id}/history?with=Ann,Bo")
    rows = page.get_by_role("tabpanel").get_by_role("listitem")
    expect(rows).to_have_count(5)
    expect(rows.last).to_contain_text("Answer 7.")
    for last in ("Question 5?", "Answer 2.", "Question 0?"):
        page.get_by_role("button", name="Older").click()
        expect(rows.last).to_contain_text(last)
    expect(rows).to_have_count(1)
    expect(page.get_by_role("button", name="Older")).to_have_count(0)
    page.get_by_role("button", name="Newest").click()
    expect(rows.last).to_contain_text("Answer 7.")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious_is_wrong_with_any_tab(
    open_page: OpenPage, story: ProjectHandle, pier: str, theme: str
) -> None:
    story.conversations.correct(pier, story.conversations.read_page(pier, limit=100).messages[0].id, "Another one?")
    story.participant_texts.add("prompt", "Bo", "Never swears.")
    story.participant_texts.add("biography", "Bo", "Grew up in the tower.")
    shown = {
        "recap": "out of date",
        "prompts": "Never swears.",
        "related": "Opens in a new window.",
        "biography": "tower",
    }
    page = open_page(f"#/{story.id}/history?with=Ann,Bo", theme=theme)
    for tab, words in shown.items():
        page.goto(re.sub("#.*", f"#/{story.id}/history/{tab}?with=Ann,Bo", page.url))
        expect(page.get_by_text(words).first).to_be_visible()
        assert find_problems(page) == []
    page.get_by_role("button", name="Edit").first.click()
    expect(page.get_by_label("Text", exact=True)).to_be_focused()
    assert find_problems(page) == []
