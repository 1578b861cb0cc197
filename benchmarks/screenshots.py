"""Pictures of every view of the page into `docs/screenshots`: light and dark, wide and narrow, English and Chinese.

Pictures are WebP, which the browser itself makes. A picture over 150 kB is refused.
"""

from __future__ import annotations

import base64
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.page import serve
from fabula.jobs.tables import jobs
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "screenshots"
VIEWS = ROOT / "web" / "src" / "views" / "index.ts"
SIZES = {"wide": (1440, 900), "narrow": (360, 740)}
THEMES = ("light", "dark")
MAX_BYTES = 150_000
_QUALITIES = (0.8, 0.65, 0.5)
_ENCODE = """async ([png, quality]) => {
  const image = new Image();
  image.src = 'data:image/png;base64,' + png;
  await image.decode();
  const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height });
  canvas.getContext('2d').drawImage(image, 0, 0);
  return canvas.toDataURL('image/webp', quality).split(',')[1];
}"""


class ViewShot(Struct, frozen=True):
    """What a picture of a view shows: the address behind the project, and what is done there first."""

    place: str
    prepare: Callable[[Page], None] | None = None


def show_desk(page: Page) -> None:
    """Show the desk with a suggestion; one that an earlier picture left undecided is taken up again."""
    page.wait_for_selector(".cm-name")
    page.wait_for_timeout(1500)
    if page.locator(".cm-take").count():
        return
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


_LORE: dict[str, tuple[dict[str, Any], ...]] = {
    "en": (
        {"key": ["lamp", "lantern"], "comment": "The lamp", "content": "It burns whale oil."},
        {"key": ["kelp"], "comment": "Kelp", "content": "It is burnt for soda on the north shore."},
        {"constant": True, "comment": "The sea", "content": "It is cold, and nobody swims."},
    ),
    "zh": (
        {"key": ["灯", "灯塔"], "comment": "灯", "content": "灯里烧的是鲸油。"},
        {"key": ["海带"], "comment": "海带", "content": "北岸的人烧海带取碱。"},
        {"constant": True, "comment": "海", "content": "海水很冷，没有人下去游泳。"},
    ),
}


def show_lore(page: Page) -> None:
    """Show which entries of a lorebook a text brings in."""
    text = page.locator("aside.right textarea")
    if text.is_visible():
        text.fill("灯灭了。" if page.locator("html[lang=zh-CN]").count() else "The lamp went out.")
        page.locator("aside.right form button").last.click()


SHOTS = {  # by view; a view that is not here is shown as it opens
    "write": ViewShot("write/6", show_desk),
    "inspector": ViewShot("write/6", show_inspector),
    "codex": ViewShot("codex/{entry}"),
    "talk": ViewShot("talk/{talk}"),
    "search": ViewShot("search?words={words}"),
    "lorebooks": ViewShot("lorebooks/{lore}/0", show_lore),
    "memory": ViewShot("memory/proposed"),
    "history": ViewShot("history?with={people}"),
}


def find_views() -> list[str]:
    """Return the names of all views, in the order of the header."""
    return re.findall(r'\{ name: "(\w+)"', VIEWS.read_text("utf-8"))


def prepare(workspace: Workspace, sample: str) -> tuple[ProjectHandle, dict[str, str]]:
    """Copy a sample, add what makes its views worth a look, and return what their addresses name."""
    story = workspace.copy_sample(sample)
    person, other = [one for one in story.codex.list_entries() if one.type == "character"][:2]
    is_chinese = story.view.project.language == "zh"
    state = story.chat.start([person.name, other.name], title="夜里" if is_chinese else "At night")
    talk = state.record.id
    said = (
        ("灯还亮着吗？", "亮着。可是油不多了。") if is_chinese else ("Is the lamp lit?", "It is. But the oil is low.")
    )
    player = next(one.name for one in state.present if one.id.startswith("player:"))
    story.conversations.record(talk, said[0], speaker=player)
    story.conversations.record(talk, said[1], speaker=person.name)
    lore = story.lorebooks.create("港口" if is_chinese else "Harbour").id
    for entry in _LORE["zh" if is_chinese else "en"]:
        story.lorebooks.add_entry(lore, entry)
    for number in range(6):
        text = f"第{number}天她又去了！没有人来！" if is_chinese else f"She ran home on day {number}! Nobody came!"
        story.memory.record_outcome(text, rewritten_text=text.replace("！", "。").replace("!", "."))
    story.memory.learn()
    note = "模型没有回答。" if is_chinese else "The model did not answer."
    with workspace.store.write(project=story.id) as tx:
        done = {"state": "done", "started": "2026-11-01T10:00:00Z", "ended": "2026-11-01T10:00:02Z"}
        for number in range(1, 5):
            tx.update_rows(jobs, done, jobs.c.key == f"synopsis:ch-0{number}")
        failed = {"state": "failed", "why": "LLM_TIMEOUT", "note": note, "tries": 3}
        tx.update_rows(jobs, failed, jobs.c.key == "synopsis:ch-05")
    names = {"lore": lore, "entry": person.id, "talk": talk, "people": f"{player},{person.name},{other.name}"}
    return story, {**names, "words": "谁关了灯塔的灯" if is_chinese else "who put out the lamp"}


def take(browser: Browser, url: str, token: str, stories: dict[str, tuple[str, dict[str, str]]]) -> None:
    """Take all pictures."""
    encoder = browser.new_page()
    for language, (story, names) in stories.items():
        for size, (width, height) in SIZES.items():
            for theme in THEMES:
                context = browser.new_context(
                    viewport={"width": width, "height": height},
                    color_scheme="dark" if theme == "dark" else "light",
                    locale="zh-CN" if language == "zh" else "en-GB",
                    extra_http_headers={"Authorization": f"Bearer {token}"},
                )
                for view in ("start", *find_views(), "inspector"):
                    shot = SHOTS.get(view, ViewShot(view))
                    page = context.new_page()
                    page.goto(f"{url}/#/" + ("" if view == "start" else f"{story}/{shot.place.format(**names)}"))
                    page.wait_for_selector("main")
                    if shot.prepare is not None:
                        shot.prepare(page)
                    page.wait_for_timeout(1500)
                    write(encoder, page.screenshot(), TARGET / f"{view}-{size}-{theme}-{language}.webp")
                    page.close()
                context.close()


def write(encoder: Page, png: bytes, path: Path) -> None:
    """Write a picture as WebP, with fewer details where it would be too large."""
    for quality in _QUALITIES:
        encoded: str = encoder.evaluate(_ENCODE, [base64.b64encode(png).decode(), quality])
        data = base64.b64decode(encoded)
        if len(data) <= MAX_BYTES:
            path.write_bytes(data)
            return
    raise AssertionError(f"{path.name} has {len(data):,} bytes")


def main() -> None:
    """Make both samples, serve them, and take all pictures."""
    chromium = shutil.which("chromium")
    assert chromium is not None, "chromium is not installed"
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        with Workspace.open(Path(folder)) as workspace:
            workspace.settings().set("llm.provider", "demo", scope="person")
            workspace.people.add("ann", name="Ann Tarn", password="a long one")
            prepared = {"en": prepare(workspace, "lantern_coast"), "zh": prepare(workspace, "wugang")}
            workspace.people.set_role("ann", prepared["en"][0].id, "editor")
            stories = {language: (story.id, names) for language, (story, names) in prepared.items()}
        with serve(Path(folder)) as (url, token), sync_playwright() as started:
            browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            take(browser, url, token, stories)
            browser.close()


if __name__ == "__main__":
    main()
