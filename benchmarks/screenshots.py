"""Pictures of every view of the page into `docs/screenshots`: light and dark, wide and narrow, English and Chinese."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.page import serve
from fabula.workspace.workspace import Workspace

TARGET = Path(__file__).parents[1] / "docs" / "screenshots"
SIZES = {"wide": (1440, 900), "narrow": (360, 740)}


def show_desk(page: Page) -> None:
    """Show the desk with a suggestion."""
    page.wait_for_selector(".cm-name")
    page.locator(".cm-line", has_text="“" if page.locator("html[lang=zh-CN]").count() else '"').first.click()
    page.keyboard.press("End")
    page.wait_for_selector("aside.right article", state="attached")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".cm-take button:nth-of-type(4)", timeout=60_000)


def show_inspector(page: Page) -> None:
    """Show the inspector above the desk."""
    page.wait_for_selector(".cm-name")
    page.click(".cm-content")
    page.wait_for_selector("aside.right article", state="attached")
    page.click(".shell > footer button")
    page.wait_for_selector(".inspector article")


def show_view(page: Page) -> None:
    """Show any other view."""
    page.wait_for_selector("main")


SHOTS: dict[str, tuple[str, Callable[[Page], None]]] = {
    "start": ("#/", show_view),
    "desk": ("#/{story}/write/6", show_desk),
    "inspector": ("#/{story}/write/6", show_inspector),
}


def take(browser: Browser, url: str, token: str, stories: dict[str, str]) -> None:
    """Take all pictures."""
    views: list[str] = []
    for size, (width, height) in SIZES.items():
        for theme in ("light", "dark"):
            for language, story in stories.items():
                context = browser.new_context(
                    viewport={"width": width, "height": height},
                    color_scheme="dark" if theme == "dark" else "light",
                    locale="zh-CN" if language == "zh" else "en-GB",
                    extra_http_headers={"Authorization": f"Bearer {token}"},
                )
                if not views:
                    views = find_views(context.new_page(), url, story)
                shots = {**SHOTS, **{name: (f"#/{{story}}/{name}", show_view) for name in views}}
                for name, (address, show) in shots.items():
                    page = context.new_page()
                    page.goto(f"{url}/{address.format(story=story)}")
                    show(page)
                    page.wait_for_timeout(1500)
                    page.screenshot(path=TARGET / f"{name}-{size}-{theme}-{language}.png")
                    page.close()
                context.close()


def find_views(page: Page, url: str, story: str) -> list[str]:
    """Return the names of the other views, from the links in the header."""
    page.goto(f"{url}/#/{story}/write")
    page.wait_for_selector("nav a")
    links: list[str] = page.eval_on_selector_all("header a[href]", "all => all.map(one => one.getAttribute('href'))")
    page.close()
    named = [link.split("/")[2] for link in links if link.count("/") == 2]
    return [name for name in dict.fromkeys(named) if name not in ("", "write")]


def main() -> None:
    """Make both samples, serve them, and take all pictures."""
    chromium = shutil.which("chromium")
    assert chromium is not None, "chromium is not installed"
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        with Workspace.open(Path(folder)) as workspace:
            workspace.settings().set("llm.provider", "demo", scope="person")
            stories = {"en": workspace.copy_sample("lantern_coast").id, "zh": workspace.copy_sample("wugang").id}
        with serve(Path(folder)) as (url, token), sync_playwright() as started:
            browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            take(browser, url, token, stories)
            browser.close()


if __name__ == "__main__":
    main()
