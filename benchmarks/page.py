"""The page in a real browser: its size, its start, a keystroke in a long chapter, the context, and long lists.

The last line is one JSON object. A keystroke is the work from the key to the end of its frame, without the wait for
the frame; a long task is one over 50 ms while lists of 2,000 chapters and 10,000 entries and the timeline are scrolled.
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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from fabula.codex import Entry, edits
from fabula.manuscript import documents
from fabula.server.page import PAGE_FOLDER
from fabula.workspace.workspace import Workspace

CHAPTERS, ENTRIES, CHARACTERS, MENTIONS, KEYS = 2_000, 10_000, 100_000, 2_000, 150
_TIMES = """() => {
  window.keyTimes = [];
  const later = run => {
    const channel = new MessageChannel(); channel.port1.onmessage = run; channel.port2.postMessage(0);
  };
  addEventListener('keydown', () => {
    const pressed = performance.now();
    later(() => { const handled = performance.now() - pressed;
      requestAnimationFrame(() => { const frame = performance.now();
        later(() => window.keyTimes.push(handled + performance.now() - frame)); }); });
  }, true);
}"""
_LONG = """() => {
  window.longTasks = [];
  const note = list => window.longTasks.push(...list.getEntries().map(one => one.duration));
  new PerformanceObserver(note).observe({ type: 'longtask' });
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

    starts = []
    for _ in range(5):
        page = open_page(f"#/{sample}/write/ch-06")
        page.wait_for_selector(".cm-line:nth-child(3)")
        starts.append(page.evaluate("performance.now()") / 1000)
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
    before = read_work(session)
    for number in range(KEYS):
        page.keyboard.press("e" if number % 6 else "Space")
        page.wait_for_timeout(30)
    print(f"a keystroke takes {(read_work(session) - before) / KEYS:.1f} ms of the processor, whatever else runs")
    keys = sorted(page.evaluate("window.keyTimes"))
    page.wait_for_timeout(2000)
    page.evaluate(_LONG)
    page.evaluate(_SCROLL, "aside.left .box")
    if page.evaluate("Boolean([...document.querySelectorAll('nav a')].find(one => one.hash.endsWith('/codex')))"):
        page.goto(f"{url}/#/{book}/codex")
        page.wait_for_selector("aside.left .box [role=option]", timeout=120_000)
        page.wait_for_timeout(2000)
        page.evaluate(_SCROLL, "aside.left .box")
    page.goto(f"{url}/#/{book}/timeline")
    page.wait_for_selector("main [role=treeitem]", timeout=120_000)
    page.wait_for_timeout(2000)
    page.evaluate(_SCROLL, "main .box")
    long_tasks = len(page.evaluate("window.longTasks"))
    page.context.close()
    return {
        "script_gzip_kb": round(measure_scripts(), 1),
        "interactive_s": round(statistics.median(starts), 2),
        "keystroke_p95_ms": round(keys[int(len(keys) * 0.95) - 1], 1),
        "context_open_ms": round(statistics.median(opens), 1),
        "bar_follow_ms": round(statistics.median(follows), 1),
        "long_tasks": long_tasks,
    }


def read_work(session: CDPSession) -> float:
    """Return the processor time of the page so far, in milliseconds."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return 1000 * float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))


def measure_scripts() -> float:
    """The scripts of the first load of the desk, gzipped, in kB."""
    return sum(len(gzip.compress(one.read_bytes(), 6)) for one in (PAGE_FOLDER / "assets").glob("*.js")) / 1000


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
