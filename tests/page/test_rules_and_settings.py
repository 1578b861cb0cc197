"""Constraints and settings in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.page.conftest import OpenPage
from tests.page.test_axe import find_problems


def test_a_constraint_is_made_found_broken_changed_and_deleted(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/constraints")
    page.get_by_role("button", name="New constraint").click()
    page.get_by_label("What must hold").fill('Never use the word "lantern".')
    page.get_by_label("Weight").fill("80")
    page.get_by_role("button", name="Save").click()
    rule = page.get_by_role("listitem").filter(has_text='Never use the word "lantern".')
    expect(rule).to_contain_text("weight 80")
    page.get_by_role("button", name="Check the book").click()
    expect(page.locator(".wavy").first).to_have_text("lantern", ignore_case=True)
    rule.get_by_role("button", name="Edit").click()
    page.get_by_label("What must hold").fill('Never use the word "lamp".')
    page.get_by_role("button", name="Save").click()
    rule = page.get_by_role("listitem").filter(has_text='Never use the word "lamp".')
    rule.get_by_role("button", name="Delete").click()
    expect(rule).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(rule).to_have_count(1)


def test_a_setting_is_changed_refused_and_set_back(
    open_page: OpenPage, workspace: Workspace, story: ProjectHandle
) -> None:
    settings = workspace.settings(story.id)
    page = open_page(f"#/{story.id}/settings")
    page.get_by_label("Find a setting").fill("History.SummaryEveryNRounds")
    field = page.get_by_role("spinbutton", name="After how many rounds")
    field.fill("7")
    field.blur()
    expect(page.get_by_role("button", name="Back to usual")).to_be_visible()
    assert settings.get("History.SummaryEveryNRounds").value == 7
    field.fill("0")
    field.blur()
    expect(page.get_by_role("alert")).to_be_visible()
    assert settings.get("History.SummaryEveryNRounds").value == 7
    page.get_by_role("button", name="Back to usual").click()
    expect(field).to_have_value("5")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("view", ["constraints", "settings"])
def test_nothing_serious_is_wrong_with_rules_and_settings(
    open_page: OpenPage, story: ProjectHandle, view: str, theme: str
) -> None:
    page = open_page(f"#/{story.id}/{view}", theme=theme)
    expect(page.locator("main li, main .item code").first).to_be_visible()
    assert find_problems(page) == []
