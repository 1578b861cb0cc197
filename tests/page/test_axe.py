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


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious_is_wrong_with_the_palette_and_the_dialogs_of_the_desk(
    open_page: OpenPage, story: ProjectHandle, theme: str
) -> None:
    page = open_page(f"#/{story.id}/write/ch-06", theme=theme)
    expect(page.locator(".cm-name").first).to_be_visible()

    def command(words: str) -> None:
        page.keyboard.press("Control+K")
        page.get_by_role("dialog").get_by_role("combobox").fill(words)
        page.keyboard.press("Enter")

    def check(name: str | re.Pattern[str]) -> None:
        expect(page.get_by_role("dialog", name=name)).to_be_visible()
        assert find_problems(page) == []
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)

    page.keyboard.press("Control+K")
    check("Commands")
    for words in ("Find and replace in the book", "Earlier versions", "Add a part", "Delete this chapter"):
        command(words)
        check(re.compile(words.split(" this")[0]))
    page.locator(".cm-content").click()
    page.keyboard.press("Control+Home")
    page.keyboard.press("Shift+Control+ArrowRight")
    for name in ("Add to the codex", "Make it a rule", "Remember it", "Find similar passages"):
        page.get_by_role("toolbar").get_by_role("button", name=name).click()
        check(re.compile("."))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious_is_wrong_with_other_dialogs_and_the_outline(
    open_page: OpenPage, story: ProjectHandle, theme: str
) -> None:
    page = open_page(f"#/{story.id}/outline", theme=theme)
    expect(page.get_by_label("Beat 1").first).to_be_visible()
    assert find_problems(page) == []
    dialogs = {
        "codex/mara": ("Add a change", "Add a relation", "Let somebody know"),
        "codex": ("Import",),
        "talk": ("New conversation",),
    }
    for view, buttons in dialogs.items():
        page.goto(re.sub("#.*", f"#/{story.id}/{view}", page.url))
        for button in buttons:
            page.get_by_role("button", name=button).first.click()
            expect(page.get_by_role("dialog")).to_be_visible()
            assert find_problems(page) == []
            page.keyboard.press("Escape")
            expect(page.get_by_role("dialog")).to_have_count(0)
