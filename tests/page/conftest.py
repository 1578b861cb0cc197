"""A real browser, and a server with a copy of a sample whose sentences the demo writes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright import sync_api as playwright

from fabula.server.page import PAGE_FOLDER
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.blank import lay
from tests.page.running import PageServer

OpenPage = Callable[..., "playwright.Page"]
playwright.expect.set_options(timeout=20_000)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="package")  # its event loop would be in the way of tests elsewhere
def browser() -> Iterator[playwright.Browser]:
    missing = [] if CHROMIUM else ["chromium"]
    missing += [] if (PAGE_FOLDER / "index.html").is_file() else ["the page, which `make page` builds"]
    if missing:
        assert not os.environ.get("CI"), f"missing in CI: {missing}"
        pytest.skip(f"missing: {', '.join(missing)}")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield opened
        opened.close()


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.open(lay(tmp_path / "data")) as opened:
        opened.settings().set("llm.provider", "demo", scope="person")
        yield opened


@pytest.fixture
def story(workspace: Workspace) -> ProjectHandle:
    """A copy of the English sample."""
    return workspace.copy_sample("lantern_coast")


@pytest.fixture
def server(workspace: Workspace) -> Iterator[PageServer]:
    server = PageServer(workspace)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def open_page(browser: playwright.Browser, server: PageServer) -> Iterator[OpenPage]:
    """Opens windows that are signed in; a script error or a breach of the policy in one of them fails the test."""
    contexts: list[playwright.BrowserContext] = []
    problems: list[str] = []

    def open_window(
        place: str = "",
        *,
        width: int = 1440,
        height: int = 900,
        theme: Literal["light", "dark"] = "light",
        locale: str = "en-GB",
        link: str = "",
    ) -> playwright.Page:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme, locale=locale)
        context.set_default_timeout(30_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda said: problems.append(said.text) if "Content Security Policy" in said.text else None)
        page.goto(link or server.make_link())
        if place:
            page.goto(f"{server.url}/{place}")
        return page

    yield open_window
    for context in contexts:
        context.close()
    assert problems == []
