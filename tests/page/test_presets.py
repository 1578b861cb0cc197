"""Presets in a real browser: messages, where they land as one edits, and what is refused."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Route, expect

from fabula.workspace.project import ProjectHandle
from tests.page.conftest import OpenPage
from tests.page.test_axe import find_problems


def test_a_preset_is_made_and_its_message_lands_where_it_is_put(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/presets")
    page.get_by_role("button", name="New preset").first.click()
    page.get_by_label("Name", exact=True).fill("Terse")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="Terse")).to_be_visible()
    page.get_by_role("button", name="Add a message").click()
    page.get_by_label("Name of the message").fill("brief")
    page.get_by_label("Text").fill("Answer in short sentences.")
    page.get_by_label("Where it stands").select_option(label="beside a place")
    page.get_by_label("Beside which place").select_option(label="Retrieved")
    page.get_by_label("On which side").select_option(label="before it")
    picture = page.get_by_role("region", name="The prompt, from top to bottom").get_by_role("listitem")
    expect(picture.filter(has_text="Answer in short sentences.")).to_be_visible()
    names = picture.all_inner_texts()
    place = next(index for index, text in enumerate(names) if text.startswith("brief"))
    assert names[place - 1].startswith("Settings")
    assert names[place + 1].startswith("Retrieved")
    page.get_by_role("button", name="Save").first.click()
    page.get_by_role("button", name="Use this preset").click()
    expect(page.get_by_role("button", name="Use no preset")).to_be_visible()
    (node,) = (story.presets.find("Terse") or pytest.fail("not stored")).nodes
    assert node.injection_strategy is not None
    assert (node.content, node.injection_strategy.anchor_target) == ("Answer in short sentences.", "retrieved")


def test_a_place_of_ones_own_can_be_chosen_as_soon_as_it_is_named(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/presets")
    page.get_by_role("list", name="In this order").get_by_role("button", name=re.compile("^tide-table")).click()
    expect(page.get_by_label("Beside which place").locator("option", has_text="world_info")).to_be_attached()
    page.get_by_role("button", name="Add a place").click()
    page.get_by_label("Name of the place").fill("mood")
    page.get_by_role("list", name="In this order").get_by_role("button", name=re.compile("^tide-table")).click()
    page.get_by_label("Beside which place").select_option("mood")
    page.get_by_role("button", name="Move “mood” up").click()
    expect(page.get_by_role("region", name="The prompt, from top to bottom").get_by_text("mood")).to_be_visible()


def test_a_preset_can_be_edited_only_when_it_is_loaded(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/presets")
    held: list[Route] = []
    page.route(re.compile(r"/presets/[^/]+$"), lambda route: held.append(route))
    page.reload()
    expect(page.get_by_role("button", name="Delete")).to_be_visible()
    expect(page.get_by_role("button", name="Add a place")).to_have_count(0)
    for one in held:
        one.continue_()
    page.get_by_role("button", name="Add a place").click()
    page.get_by_label("Name of the place").fill("mood")


def test_a_wrong_preset_is_refused_while_it_is_edited(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/presets")
    page.get_by_role("button", name="Add a place").click()
    page.get_by_label("Name of the place").fill("world_info")
    expect(page.get_by_role("alert")).to_contain_text("twice")
    expect(page.get_by_role("button", name="Save").first).to_be_disabled()
    page.get_by_role("button", name="Discard changes").click()
    expect(page.get_by_role("alert")).to_have_count(0)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious_is_wrong_with_presets(open_page: OpenPage, story: ProjectHandle, theme: str) -> None:
    page = open_page(f"#/{story.id}/presets", theme=theme)
    page.get_by_role("list", name="In this order").get_by_role("button", name=re.compile("^tide-table")).click()
    expect(page.locator("aside .layer").first).to_be_visible()
    assert find_problems(page) == []
