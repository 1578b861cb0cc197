"""No serious finding of axe on any view, in both themes and on a narrow page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from fabula.workspace.project import ProjectHandle
from tests.page.conftest import OpenPage

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
_RUN = """async () => (await axe.run(document, { resultTypes: ['violations'] })).violations
    .filter(one => ['serious', 'critical'].includes(one.impact))
    .map(one => one.id + ': ' + one.nodes.map(node => node.html.slice(0, 160)).slice(0, 3).join(' | '))"""


def find_problems(page: Page) -> list[str]:
    page.evaluate(AXE.read_text("utf-8"))
    found: list[str] = page.evaluate(_RUN)
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious_is_wrong_with_the_desk(open_page: OpenPage, story: ProjectHandle, theme: str) -> None:
    page = open_page(f"#/{story.id}/write/ch-06", theme=theme)
    expect(page.locator(".cm-name").first).to_be_visible()
    page.locator(".cm-content").click()
    expect(page.locator("aside.right article").first).to_be_visible()
    assert find_problems(page) == []
    page.get_by_role("button", name=re.compile("Open the inspector")).click()
    expect(page.get_by_role("region", name="Inspector").locator("article").first).to_be_visible()
    assert find_problems(page) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious_is_wrong_with_the_first_page(open_page: OpenPage, theme: str) -> None:
    page = open_page("", theme=theme, width=390, locale="zh-CN")
    expect(page.get_by_role("button", name="打开《雾港来信》")).to_be_visible()
    assert find_problems(page) == []
