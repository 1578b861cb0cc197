"""Hostile saves of at most 5 MB: how long each takes until it is refused or loaded, and how much memory.

Seconds are CPU time, so that a busy machine does not count. Each file is read in a process of its own:
`python -m benchmarks.hostile_saves --json`.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

MAX_FILE_BYTES = 5_000_000
Members = dict[str, bytes]

_CHILD = """
import sys, time
from pathlib import Path
from fabula.core.errors import FabulaError
from fabula.store.save.tables import table_formats
from fabula.workspace.workspace import Workspace

table_formats()  # loading the program is not reading a save
with Workspace.open(sys.argv[2]) as workspace:
    begun = time.process_time()
    try:
        found = workspace.inspect_save(Path(sys.argv[1]))
        workspace.load_save(Path(sys.argv[1]))
        result = "loaded"
    except FabulaError as error:
        result = error.code.value
    seconds = time.process_time() - begun
(peak,) = [int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(result, seconds, peak / 1000)
"""


def _lines(rows: Iterator[dict[str, Any]] | list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows)


def _table(name: str, rows: Callable[[], Iterator[dict[str, Any]]]) -> Callable[[], Members]:
    return lambda: {f"{name}.jsonl": _lines(rows())}


def _document(text: Callable[[], bytes]) -> Callable[[], Members]:
    return lambda: {
        "documents.jsonl": _lines([{"id": "a", "text": {"file": "documents/0001.md"}}]),
        "documents/0001.md": text(),
    }


def _words(count: int, seed: int = 1) -> bytes:
    chosen = random.Random(seed)
    return " ".join(f"{chosen.getrandbits(40):x}" for _ in range(count)).encode()


def _many_documents() -> Members:
    names = [f"documents/{number:05}.md" for number in range(12_000)]
    rows = [{"id": f"d{number}", "text": {"file": name}} for number, name in enumerate(names)]
    return {"documents.jsonl": _lines(rows), **dict.fromkeys(names, b"x")}


SHAPES: dict[str, Callable[[], Members]] = {
    "a name of 3 million characters": _table(
        "codex_entries", lambda: iter([{"id": "a", "name": _words(250_000).decode()}])
    ),
    "200,000 aliases": _table(
        "codex_entries",
        lambda: iter([{"id": "a", "name": "A", "aliases": [f"n{number}" for number in range(200_000)]}]),
    ),
    "8,000 memories": _table(
        "memories", lambda: ({"id": f"m{number}", "text": f"likes {number}"} for number in range(8_000))
    ),
    "8,000 memories of the person": _table(
        "person/user_memories", lambda: ({"id": f"m{number}", "text": f"likes {number}"} for number in range(8_000))
    ),
    "900 MB in one document": _document(lambda: b"a" * 900_000_000),
    "39 MB in one document": _document(lambda: b"a" * 38_999_990 + "🏮".encode()),
    "4 MB of words in one document": _document(lambda: _words(400_000)),
    "12,000 documents": _many_documents,
    "100,000 entries": _table(
        "codex_entries", lambda: ({"id": f"e{number}", "name": f"Name {number}"} for number in range(100_000))
    ),
    "200,000 entries": _table(
        "codex_entries", lambda: ({"id": f"e{number}", "name": f"Name {number}"} for number in range(200_000))
    ),
    "1,500 entries of 1,000 aliases": _table(
        "codex_entries",
        lambda: (
            {"id": f"e{number}", "name": "N", "aliases": [f"x{number}y{one}" for one in range(1_000)]}
            for number in range(1_500)
        ),
    ),
    "a line of 3 million empty lists": _table(
        "lorebooks", lambda: iter([{"id": "l", "book": {"a": [[]] * 3_000_000}}])
    ),
    "20 lines of 900,000 empty lists": _table(
        "lorebooks", lambda: ({"id": f"l{number}", "book": {"a": [[]] * 900_000}} for number in range(20))
    ),
    "a million pins": _table(
        "pins", lambda: ({"where_id": f"w{number}", "entry_id": "a"} for number in range(1_000_000))
    ),
    "a title of a million characters": _table(
        "documents", lambda: iter([{"id": "a", "title": "x" * 1_000_000, "text": None}])
    ),
    "a setting of 5 MB": _table("settings", lambda: iter([{"name": "x", "value": "x" * 5_000_000}])),
    "49,000 skills": _table(
        "settings", lambda: ({"name": f"skill.s{number}", "value": "x"} for number in range(49_000))
    ),
    "36 MB in a preset": _table(
        "presets", lambda: iter([{"id": "p", "nodes": [{"type": "message", "content": "x" * 36_000_000}]}])
    ),
    "36 texts of 1 MB in a preset": _table(
        "presets",
        lambda: iter([{"id": "p", "active": 1, "nodes": [{"type": "message", "content": "word " * 200_000}] * 36}]),
    ),
    "36 texts of 1 MB in a lorebook": _table(
        "lorebooks",
        lambda: iter(
            [
                {
                    "id": "l",
                    "name": "L",
                    "book": {"entries": [{"uid": n, "content": "a b " * 250_000} for n in range(36)]},
                }
            ]
        ),
    ),
    "20,000 constraints": _table(
        "constraints", lambda: ({"id": f"c{number}", "text": f"Rule {number}"} for number in range(20_000))
    ),
    "60,000 messages": lambda: {
        "conversations.jsonl": _lines([{"id": "c"}]),
        "messages.jsonl": _lines(
            {"id": f"m{number}", "conversation_id": "c", "number": number, "parent_id": f"m{number - 1}"}
            for number in range(1, 60_000)
        ),
    },
    "100 MB of revisions": lambda: {
        "documents.jsonl": _lines([{"id": "a"}]),
        **{
            f"revisions-{part}.jsonl": _lines(
                {"document_id": "a", "revision": part * 1000 + number, "text": "word " * 6_000} for number in range(900)
            )
            for part in range(2, 5)
        },
    },
}


def write_save(path: Path, members: Members, *, compression: int = zipfile.ZIP_DEFLATED) -> None:
    """Write a save that claims to be honest: its checksums and counts fit."""
    members = {"projects.jsonl": b'{"title":"Free"}\n', **members}
    listed: dict[str, dict[str, Any]] = {}
    for name, data in members.items():
        listed[name] = {"sha256": sha256(data).hexdigest(), "bytes": len(data)}
        if name.endswith(".jsonl"):
            listed[name]["rows"] = data.count(b"\n")
    manifest = {
        "format": "fabula-save",
        "version": 4,
        "program": "0.1.0",
        "made": "2026-01-01T00:00:00.000000Z",
        "project": {"id": "free", "title": "Free"},
        "members": listed,
    }
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.writestr("manifest.json", json.dumps(manifest))


def measure_save(path: Path, folder: Path) -> tuple[str, float, float]:
    """Inspect and load a save in another process; return the outcome, the seconds and the megabytes at most."""
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(path), str(folder)], capture_output=True, text=True, check=True
    )
    outcome, seconds, megabytes = done.stdout.split()
    return outcome, float(seconds), float(megabytes)


def main() -> None:
    """Measure every shape, and print the outcomes and the worst figures."""
    as_json = "--json" in sys.argv
    outcomes: dict[str, dict[str, Any]] = {}
    for name, make in SHAPES.items():
        with TemporaryDirectory(prefix="hostile-") as folder:
            path = Path(folder) / "hostile.fabula"
            write_save(path, make())
            if path.stat().st_size > MAX_FILE_BYTES:
                raise ValueError(f"{name} has {path.stat().st_size} bytes")
            outcome, seconds, megabytes = measure_save(path, Path(folder) / "data")
        outcomes[name] = {"outcome": outcome, "seconds": round(seconds, 2), "mb": round(megabytes)}
        if not as_json:
            print(f"{name:36} {outcome:14} {seconds:6.2f} s {megabytes:6.0f} MB")
    figures = {
        "worst_seconds": max(one["seconds"] for one in outcomes.values()),
        "worst_mb": max(one["mb"] for one in outcomes.values()),
    }
    print(json.dumps({**figures, "saves": outcomes} if as_json else figures))


if __name__ == "__main__":
    main()
