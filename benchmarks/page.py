"""The page in a real browser: its size, its start, a keystroke in a long chapter, the context, and long lists.

The last line is one JSON object. A keystroke counts from the key until what it causes is done: the handlers of its
events, and the whole frame after them with its scripts, styles, layout, painting and hand-over to the compositor. The
pause in between, while nothing is done because the next frame is not due yet, is not counted; where there is none, all
from the key to the end of the frame is. A long task is one over 50 ms while lists of 2,000 chapters and 10,000 entries
and the timeline are scrolled. These are times on the clock, which grow where other programs take the processor away,
so both are also given as time of the processor: `keystroke_cpu_p95_ms` is everything that the page did from one key to
the next. The script is what the browser loads until somebody can write; other views load theirs when they are opened.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from fabula.codex import Entry, edits
from fabula.manuscript import documents
from fabula.server.page import PAGE_FOLDER
from fabula.workspace.workspace import Workspace

CHAPTERS, ENTRIES, CHARACTERS, MENTIONS, KEYS, LONG = 2_000, 10_000, 100_000, 2_000, 150, 50
_TIMES = """() => {
  window.keyTimes = [];
  const later = run => {
    const channel = new MessageChannel(); channel.port1.onmessage = run; channel.port2.postMessage(0);
  };
  addEventListener('keydown', () => {
    const pressed = performance.now();
    let handled = 0;
    later(() => handled = performance.now());
    requestAnimationFrame(() => { const frame = performance.now();
      later(() => { const drawn = performance.now();
        window.keyTimes.push(handled && handled <= frame ? handled - pressed + drawn - frame : drawn - pressed); }); });
  }, true);
}"""
_SCROLL = """async (selector) => {
  const box = document.querySelector(selector);
  for (let step = 0; step < 120; step++) {
    box.scrollTop += box.scrollHeight / 120;
    await new Promise(requestAnimationFrame);
  }
}"""
_FOLLOW = """() => new Promise(resolve => {
  const before = performance.getEntriesByType('resource').length;
  const pressed = performance.now();
  document.execCommand('insertText', false, 'x');
  const look = () => {
    const since = performance.getEntriesByType('resource').slice(before);
    if (!since.some(one => one.name.endsWith('/inspect') && one.responseEnd)) setTimeout(look, 4);
    else requestAnimationFrame(() => resolve(performance.now() - pressed));
  };
  look();
})"""
_OPEN = """() => new Promise(resolve => {
  const pressed = performance.now();
  document.querySelector('.shell > footer button').click();
  const look = () => {
    if (document.querySelector('.inspector article')) resolve(performance.now() - pressed);
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})"""


def make_stories(workspace: Workspace) -> tuple[str, str]:
    """Make a sample, and a book that is long in every way; return their ids."""
    sample = workspace.copy_sample("lantern_coast").id
    book = workspace.create_project("A Long Book").id
    line = "Mara Venn walked on along the Strand, past 3."
    chapter = "\n".join([line.ljust(CHARACTERS // MENTIONS - 1, "x")] * MENTIONS)
    with workspace.store.write(project=book) as tx:
        documents.add(tx, "The Long Chapter", text=chapter)
        for number in range(CHAPTERS):
            documents.add(tx, f"Chapter of the number {number}", text="Nothing happens here.")
        edits.create(tx, Entry(id="mara", type="character", name="Mara Venn"))
        for number in range(ENTRIES):
            edits.create(tx, Entry(id=f"e{number}", type="character", name=f"Person {number}"))
    return sample, book


@contextmanager
def serve(folder: Path) -> Iterator[tuple[str, str]]:
    """Serve a data folder; yield the address and the token."""
    command = [sys.executable, "-m", "fabula.cli.main", "serve", "--port", "0", "--no-open", "--no-worker"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "FABULA_DATA": str(folder)}
    )
    assert process.stdout is not None
    said = process.stdout.readline() + process.stdout.readline()
    link = re.search(r"(http://\S+)/open/", said)
    assert link is not None, said
    try:
        yield link[1], said.split()[-1]
    finally:
        process.terminate()
        process.wait()


def measure(browser: Browser, url: str, token: str, sample: str, book: str) -> dict[str, float]:
    """Measure everything; times are of this machine now."""

    def open_page(address: str) -> Page:
        context = browser.new_context(
            viewport={"width": 1440, "height": 900}, extra_http_headers={"Authorization": f"Bearer {token}"}
        )
        page = context.new_page()
        page.goto(f"{url}/{address}")
        return page

    starts, scripts = [], []
    for _ in range(5):
        page = open_page(f"#/{sample}/write/ch-06")
        page.wait_for_selector(".cm-line:nth-child(3)")
        starts.append(page.evaluate("performance.now()") / 1000)
        scripts.append(measure_scripts(page))
        page.context.close()
    page = open_page(f"#/{sample}/write/ch-06")
    page.wait_for_selector(".cm-name")
    page.click(".cm-content")
    page.wait_for_selector(".shell > footer button")
    page.wait_for_timeout(3000)
    follows = []
    for _ in range(10):
        follows.append(page.evaluate(_FOLLOW))
        page.wait_for_timeout(300)
    opens = []
    for _ in range(7):
        opens.append(page.evaluate(_OPEN))
        page.keyboard.press("Escape")
        page.wait_for_timeout(150)
    page.context.close()

    page = open_page(f"#/{book}/write/1")
    page.wait_for_selector(".cm-name", timeout=120_000)
    page.click(".cm-content")
    page.wait_for_timeout(3000)
    page.evaluate(_TIMES)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    work = [read_work(session)]
    for number in range(KEYS):
        page.keyboard.press("e" if number % 6 else "Space")
        page.wait_for_timeout(30)
        work.append(read_work(session))
    keys = page.evaluate("window.keyTimes")
    page.wait_for_timeout(2000)
    tasks = record_scroll(page, session, "aside.left .box", "the tree")
    for view, row, box in (
        ("codex", "aside.left .box [role=option]", "aside.left .box"),
        ("timeline", "main [role=treeitem]", "main .box"),
    ):
        page.goto(f"{url}/#/{book}/{view}")
        page.wait_for_selector(row, timeout=120_000)
        page.wait_for_timeout(2000)
        tasks += record_scroll(page, session, box, f"the {view}")
    page.context.close()
    return {
        "script_gzip_kb": round(statistics.median(scripts), 1),
        "interactive_s": round(statistics.median(starts), 2),
        "keystroke_p95_ms": round(find_p95(keys), 1),
        "keystroke_cpu_p95_ms": round(find_p95([after - before for before, after in pairwise(work)]), 1),
        "context_open_ms": round(statistics.median(opens), 1),
        "bar_follow_ms": round(statistics.median(follows), 1),
        "long_tasks": sum(clock > LONG for clock, _ in tasks),
        "long_tasks_cpu": sum(cpu > LONG for _, cpu in tasks),
    }


def read_work(session: CDPSession) -> float:
    """Return the processor time of the page so far, in milliseconds."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return 1000 * float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))


def record_scroll(page: Page, session: CDPSession, selector: str, name: str) -> list[tuple[float, float]]:
    """Scroll a box from end to end; return its tasks as milliseconds by the clock and of the processor."""
    found: list[dict[str, Any]] = []
    ended: list[object] = []
    session.on("Tracing.dataCollected", lambda event: found.extend(event["value"]))
    session.on("Tracing.tracingComplete", lambda event: ended.append(event))
    config = {"includedCategories": ["disabled-by-default-devtools.timeline"], "excludedCategories": ["*"]}
    session.send("Tracing.start", {"traceConfig": config, "transferMode": "ReportEvents"})
    page.evaluate(_SCROLL, selector)
    session.send("Tracing.end")
    while not ended:
        page.wait_for_timeout(20)
    threads = {(one["pid"], one["tid"]) for one in found if one.get("args", {}).get("name") == "CrRendererMain"}
    own = [one for one in found if (one["pid"], one["tid"]) in threads and one["name"] == "RunTask" and "dur" in one]
    tasks = [(one["dur"] / 1000, one.get("tdur", 0) / 1000) for one in own]
    clock, cpu = max(tasks)
    print(f"scrolling {name}: {len(tasks)} tasks, the longest {clock:.0f} ms, {cpu:.0f} ms of the processor")
    return tasks


def find_p95(times: Sequence[float]) -> float:
    """Return the time that 95 of 100 do not exceed."""
    return sorted(times)[int(len(times) * 0.95) - 1]


def measure_scripts(page: Page) -> float:
    """The scripts that a page has loaded, gzipped, in kB."""
    names = page.evaluate("performance.getEntriesByType('resource').map(one => new URL(one.name).pathname)")
    files = {PAGE_FOLDER / name.removeprefix("/") for name in names if name.endswith(".js")}
    return sum(len(gzip.compress(one.read_bytes(), 6)) for one in files) / 1000


def main() -> None:
    """Measure, and print the figures."""
    chromium = shutil.which("chromium")
    assert chromium is not None, "chromium is not installed"
    with tempfile.TemporaryDirectory() as folder:
        with Workspace.open(Path(folder)) as workspace:
            sample, book = make_stories(workspace)
        with serve(Path(folder)) as (url, token), sync_playwright() as started:
            browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            print(json.dumps(measure(browser, url, token, sample, book)))
            browser.close()


if __name__ == "__main__":
    main()
