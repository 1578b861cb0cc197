"""Memory and profile in a real browser: proposals with their evidence, what was confirmed, and what a prompt holds."""

from __future__ import annotations

import pytest
from playwright.sync_api import Route, expect

from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.page.conftest import OpenPage
from tests.page.test_axe import find_problems

HABIT = "Avoid exclamation marks."


def learn_habit(story: ProjectHandle) -> None:
    for number in range(6):
        text = f"She ran home{number}! Nobody came. The lamp burned low!"
        story.memory.record_outcome(text, rewritten_text=text.replace("!", "."))


def test_a_habit_is_learnt_shown_with_its_evidence_confirmed_edited_and_forgotten(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    learn_habit(story)
    page = open_page(f"#/{story.id}/memory")
    page.get_by_role("button", name="Learn from my decisions").click()
    page.get_by_role("tab", name="Proposed").click()
    item = page.get_by_role("listitem").filter(has_text=HABIT)
    expect(item.get_by_text("Evidence:")).to_be_visible()
    expect(item.locator("blockquote").first).to_contain_text("!")
    expect(item.get_by_text("Confidence")).to_be_visible()
    item.get_by_role("button", name="Confirm", exact=True).click()
    page.get_by_role("tab", name="Confirmed").click()
    item = page.get_by_role("listitem").filter(has_text=HABIT)
    item.get_by_role("button", name="Edit").click()
    page.get_by_label("What to remember").fill("Never an exclamation mark.")
    page.get_by_role("button", name="Save").click()
    item = page.get_by_role("listitem").filter(has_text="Never an exclamation mark.")
    expect(item.get_by_text("you said so")).to_be_visible()
    item.get_by_role("button", name="Forget").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    expect(item).to_have_count(0)
    assert all("exclamation" not in one.item.text for one in story.memory.list_memories())


def test_a_proposal_is_rejected_and_stays_away(open_page: OpenPage, story: ProjectHandle) -> None:
    learn_habit(story)
    story.memory.learn()
    page = open_page(f"#/{story.id}/memory/proposed")
    page.get_by_role("listitem").filter(has_text=HABIT).get_by_role("button", name="Reject").click()
    expect(page.get_by_text("Nothing is proposed")).to_be_visible()
    page.get_by_role("tab", name="Rejected").click()
    expect(page.get_by_role("listitem").filter(has_text=HABIT)).to_be_visible()


def test_a_memory_is_stated_and_the_prompt_of_a_place_holds_it(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/memory/confirmed")
    page.get_by_role("button", name="Remember something").click()
    page.get_by_label("What to remember").fill("Leave the gulls out of it.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("listitem").filter(has_text="Leave the gulls out of it.")).to_be_visible()
    expect(page.locator("aside .card:not(.out)").filter(has_text="Leave the gulls out of it.")).to_be_visible()


def test_the_profile_is_written(open_page: OpenPage, workspace: Workspace, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/memory/profile")
    page.get_by_label("What should a model know about you?").fill("I write slow books about the sea.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    assert workspace.read_profile().text == "I write slow books about the sea."


def test_what_is_typed_before_the_profile_is_loaded_stays(
    open_page: OpenPage, workspace: Workspace, story: ProjectHandle
) -> None:
    workspace.write_profile("I write about the sea.")
    page = open_page(f"#/{story.id}/memory/profile")
    held: list[Route] = []
    page.route("**/api/profile", lambda route: held.append(route))
    page.reload()
    field = page.get_by_label("What should a model know about you?")
    field.fill("I write slow books.")
    expect(page.get_by_role("tab", name="Confirmed")).to_have_text("Confirmed0")  # nothing is loaded yet
    held[0].continue_()
    page.unroute("**/api/profile")
    expect(page.get_by_role("tab", name="Confirmed")).not_to_have_text("Confirmed0")
    expect(field).to_have_value("I write slow books.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    assert workspace.read_profile().text == "I write slow books."


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious_is_wrong_with_memory(open_page: OpenPage, story: ProjectHandle, theme: str) -> None:
    learn_habit(story)
    story.memory.learn()
    page = open_page(f"#/{story.id}/memory", theme=theme)
    expect(page.locator("aside .card").first).to_be_visible()
    assert find_problems(page) == []
