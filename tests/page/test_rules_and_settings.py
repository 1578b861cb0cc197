"""Constraints and settings in a real browser."""

from __future__ import annotations

import re

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
    page.get_by_label("How important").fill("80")
    page.get_by_role("button", name="Save").click()
    rule = page.get_by_role("listitem").filter(has_text='Never use the word "lantern".')
    expect(rule).to_contain_text("importance 80")
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


def test_the_key_of_a_provider_goes_into_the_keyring_and_is_never_shown(
    open_page: OpenPage, workspace: Workspace, story: ProjectHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring: dict[tuple[str, str], str] = {}
    monkeypatch.setattr("keyring.get_password", lambda service, name: ring.get((service, name)))
    monkeypatch.setattr("keyring.set_password", lambda service, name, key: ring.update({(service, name): key}))
    monkeypatch.setattr("keyring.delete_password", lambda service, name: ring.pop((service, name)))
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)
    page = open_page(f"#/{story.id}/settings")
    providers = page.get_by_role("region", name="Who can write")
    page.get_by_role("button", name="Set a key: DeepSeek").click()
    page.get_by_label("Key of DeepSeek").fill("sk-secret word")
    page.get_by_role("button", name="Store the key").click()
    expect(page.get_by_role("alert")).to_contain_text("This is no key")
    page.get_by_label("Key of DeepSeek").fill("sk-secret")
    page.get_by_role("button", name="Store the key").click()
    expect(providers).to_contain_text("its key is in the keyring")
    assert ring == {("fabula", "deepseek"): "sk-secret"}
    assert "sk-secret" not in page.content()
    page.get_by_role("button", name="Let it write: DeepSeek").click()
    expect(providers.locator(".chosen")).to_contain_text("DeepSeek")
    assert workspace.settings().get("llm.provider").value == "deepseek"
    page.get_by_role("button", name="Remove the key: DeepSeek").click()
    expect(page.get_by_text("The key of DeepSeek is removed.")).to_be_visible()
    assert ring == {}


def test_a_chinese_page_says_everything_about_settings_in_chinese(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/settings", locale="zh-CN")  # though the book is English
    expect(page.get_by_role("heading", name="对话历史与回顾")).to_be_visible()
    sentences = page.locator(".what label").all_inner_texts()
    assert len(sentences) > 20
    assert [one for one in sentences if not re.search("[\u4e00-\u9fff]", one)] == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("view", ["constraints", "settings"])
def test_nothing_serious_is_wrong_with_rules_and_settings(
    open_page: OpenPage, story: ProjectHandle, view: str, theme: str
) -> None:
    page = open_page(f"#/{story.id}/{view}", theme=theme)
    expect(page.locator("main li, main .item .how").first).to_be_visible()
    assert find_problems(page) == []
