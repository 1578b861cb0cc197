"""Many projects in one process: memory for each open one, memory within a bound, and a request to one that left.

Each project has a story of 200,000 characters, 100 codex entries and a conversation; one has 400 conversations. A
process of its own opens them one after the other and assembles a prompt in each, with search, so that texts, automata,
token counts and the index are there. It does so without a bound first, and then with one, over all projects twice.

    python -m benchmarks.many_projects [--projects 300] [--bound 500] [--json]
"""

from __future__ import annotations

import gc
import os
import random
import resource
import tempfile
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.figures import arguments, percentile, report
from fabula.codex import Entry
from fabula.codex import edits as codex
from fabula.conversation import edits as talks
from fabula.conversation.model import Message
from fabula.manuscript import documents
from fabula.settings.registry import SETTINGS
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace

CHAPTERS, PARAGRAPHS, ENTRIES = 20, 40, 100
MESSAGES = 20  # of the conversation of each project
CONVERSATIONS = 400  # of the first project, beside its own
UNBOUNDED = 40  # projects that are opened without a bound
_SYLLABLES = [first + second for first in "bdfklmnrstv" for second in ("a", "e", "i", "o", "u", "an", "el", "or", "um")]


def read_memory() -> float:
    """The resident memory of this process in MB, after what nobody holds was collected."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def make_projects(folder: Path, count: int) -> None:
    """Make projects with random texts, each of its own."""
    with Workspace.open(folder) as workspace:
        for number in range(count):
            chance = random.Random(number)
            words = ["".join(chance.choices(_SYLLABLES, k=chance.randint(1, 3))) for _ in range(4_000)]
            names = ["".join(chance.choices(_SYLLABLES, k=3)).title() for _ in range(ENTRIES)]
            project = workspace.create_project(f"Story {number}")
            with workspace.store.write(project=project.id) as tx:
                for chapter in range(CHAPTERS):
                    text = "\n\n".join(_make_paragraph(chance, words, names) for _ in range(PARAGRAPHS))
                    documents.add(tx, f"Chapter {chapter + 1}", text=text)
                for name in names:
                    codex.put(tx, Entry(id=name.lower(), type="character", name=name, description=f"{name} is old."))
                for one in range(CONVERSATIONS if number == 0 else 1):
                    talks.start_conversation(tx, f"talk-{one}")
                    for line in range(MESSAGES):
                        said = _make_paragraph(chance, words, names)
                        message = Message(id="", role=("user", "assistant")[line % 2], content=said)
                        talks.add_message(tx, f"talk-{one}", message)


def _make_paragraph(chance: random.Random, words: list[str], names: list[str]) -> str:
    said = chance.choices(words, k=38)
    said[chance.randrange(38)] = chance.choice(names)
    return " ".join(said).capitalize() + "."


def ask(project: ProjectHandle, conversation: str = "talk-0") -> float:
    """Assemble a prompt with passages, in a conversation; return the milliseconds."""
    start = time.perf_counter()
    project.assemble(
        project.request(document_id="", conversation_id=conversation, recipe="chat", additional_input="Go on.")
    )
    took = (time.perf_counter() - start) * 1000
    project.search("what they said of it")
    return took


def measure(folder: Path, variant: str, bound: int, connection: Connection) -> None:
    """Open projects in this process, and send figures about it."""
    os.environ[SETTINGS["limits.memoryMegabytes"].variable] = str(bound if variant == "bounded" else 1_000_000)
    with Workspace.open(folder) as workspace:
        names = [one.id for one in sorted(workspace.projects(), key=lambda one: one.number)]
        handles = [workspace.project(one) for one in names]
        figures: dict[str, float] = {}
        ask(handles[1])
        started = read_memory()
        if variant == "unbounded":
            opened = handles[2 : 2 + UNBOUNDED]
            for one in opened:
                ask(one)
            figures["project_mb"] = (read_memory() - started) / len(opened)
            figures["project_estimated_mb"] = workspace.views.size / (len(opened) + 1) / 1e6
            figures["warm_p50_ms"] = percentile([ask(one) for one in opened], 0.5)
            ask(handles[0])
            before = read_memory()
            size = workspace.views.size
            first = [ask(handles[0], f"talk-{number}") for number in range(CONVERSATIONS)]
            figures["conversation_kb"] = (read_memory() - before) * 1000 / CONVERSATIONS
            figures["conversation_estimated_kb"] = (workspace.views.size - size) / 1000 / CONVERSATIONS
            figures["conversation_first_p50_ms"] = percentile(first, 0.5)
            again = [ask(handles[0], f"talk-{number}") for number in range(CONVERSATIONS)]
            figures["conversation_warm_p50_ms"] = percentile(again, 0.5)
        else:
            for one in handles[1:]:
                ask(one)
            figures["memory_first_mb"] = read_memory()
            evicted = [ask(one) for one in handles[1:]]
            figures["memory_second_mb"] = read_memory()
            figures["memory_started_mb"] = started
            figures["kept_projects"] = float(workspace.views.project_count)
            figures["kept_estimated_mb"] = workspace.views.size / 1e6
            figures["evicted_p50_ms"], figures["evicted_p95_ms"] = percentile(evicted, 0.5), percentile(evicted, 0.95)
        connection.send(figures)


def run(folder: Path, variant: str, bound: int) -> dict[str, float]:
    """Measure in a process of its own."""
    here, there = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=measure, args=(folder, variant, bound, there))
    process.start()
    while not here.poll(1):
        assert process.is_alive(), "the measurement failed"
    figures: dict[str, float] = here.recv()
    process.join()
    return figures


def main() -> None:
    parser = arguments(__doc__ or "", data=False)
    parser.add_argument("--projects", type=int, default=300, help="that are open at once, in turn")
    parser.add_argument("--bound", type=int, default=500, help="megabytes")
    options = parser.parse_args()
    count = max(options.projects, UNBOUNDED + 1) + 1  # the first one is measured by itself
    with tempfile.TemporaryDirectory(prefix="fabula-bench-") as name:
        make_projects(Path(name), count)
        figures = run(Path(name), "unbounded", options.bound)
        figures |= run(Path(name), "bounded", options.bound)
    figures |= {"projects": float(count - 1), "bound_mb": float(options.bound)}
    report(figures, as_json=options.json)


if __name__ == "__main__":
    main()
