"""What was acknowledged is there, whenever the process that wrote it is killed."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest
from sqlalchemy import text

from fabula.conversation.tables import conversations, messages
from fabula.manuscript import projects
from fabula.manuscript.tables import documents
from fabula.store.connections import BUSY_SECONDS, DATABASE_FILE
from fabula.store.store import Store
from tests.store.workers import TOGETHER, create_project, start

KILLS = {"sqlite": 200, "postgres": 25}
EACH = 25  # kills of one project: the change feed, in which we count, reaches back a few thousand versions
Kept = dict[int, tuple[str, str]]  # what was acknowledged: by version, its token, alone or together


@pytest.fixture
def launcher() -> Iterator[Popen[str]]:
    """A process that forks others, quickly."""
    with start("launch") as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def test_nothing_acknowledged_is_lost_and_nothing_is_torn_when_the_writer_is_killed(
    engine: str, address: str, launcher: Popen[str]
) -> None:
    chance = random.Random(20)
    acknowledged = 0
    for kill in range(KILLS[engine]):
        project = f"p{kill // EACH}"
        if kill % EACH == 0:
            kept: Kept = {}
            _begin(address, project)
        at_work = kill % 5 != 0  # else at any moment, while it opens the store too
        said = _killed(launcher, f"write_on {address} {project}", chance.uniform(0.0, 0.045), at_work=at_work)
        kept |= {int(version): (token, how) for _, version, token, how in map(str.split, said)}
        acknowledged += len(said)
        _check(address, project, kept, at_most=kill % EACH + 1)
    assert acknowledged > KILLS[engine] // 2, "the writers hardly wrote"


def test_a_store_whose_making_was_killed_is_made_the_next_time(tmp_path: Path, launcher: Popen[str]) -> None:
    chance = random.Random(21)
    for kill in range(15):
        folder = tmp_path / str(kill)
        _killed(launcher, f"make {folder}", chance.uniform(0.0, 0.1))
        for place in folder.glob("*"):
            store = Store.open(place)
            projects.create(store, "Made after all")
            assert store.file is not None
            store.close()
            assert _whole(store.file)


def test_every_connection_of_the_pool_is_safe(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    open_now = [store.engine.connect() for _ in range(20)]
    for connection in open_now:
        found = {
            name: connection.execute(text(f"PRAGMA {name}")).scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
        assert found == {
            "journal_mode": "wal",
            "synchronous": 2,
            "foreign_keys": 1,
            "busy_timeout": BUSY_SECONDS * 1000,
        }
        connection.close()
    store.close()


def test_the_quick_connection_waits_as_long_as_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store.open(tmp_path)
    made: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def watched(*arguments: Any, **options: Any) -> sqlite3.Connection:
        made.append(connect(*arguments, **options))
        return made[-1]

    monkeypatch.setattr(sqlite3, "connect", watched)
    assert store.versions(project="p") == (0, 0)
    (quick,) = made
    assert quick.execute("PRAGMA busy_timeout").fetchone() == (BUSY_SECONDS * 1000,)
    assert quick.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    store.close()


def _begin(address: str, project: str) -> None:
    store = Store.open(address)
    create_project(store, project)
    store.close()


def _killed(launcher: Popen[str], order: str, after: float, *, at_work: bool = False) -> list[str]:
    """What a process said before it was killed, some time after it started, or after it first said something."""
    assert launcher.stdin is not None
    assert launcher.stdout is not None
    launcher.stdin.write(order + "\n")
    launcher.stdin.flush()
    name, pid = launcher.stdout.readline().split()
    assert name == "pid"
    said = [launcher.stdout.readline()] if at_work else []
    time.sleep(after)
    os.kill(int(pid), signal.SIGKILL)
    while (line := launcher.stdout.readline()) != "gone\n":
        assert line, "the launcher is gone"
        said.append(line)
    return said


def _check(address: str, project: str, kept: Kept, *, at_most: int) -> None:
    """Everything acknowledged is there; of what was not, at most one change for each kill, and whole."""
    store = Store.open(address)
    with store.read(project=project) as reading:
        head = reading.version("project")
        feed = reading.changes("project", 0)
        alone, together = reading.require(documents, id="alone"), reading.require(documents, id="together")
        said = reading.rows(messages, order=(messages.c.number,), only=("number", "content"))
        count = reading.require(conversations, id="talk").said
    assert store.versions(project=project)[0] == head
    store.close()

    assert feed is not None, "a version is missing in the feed"
    assert sorted({change.version for change in feed}) == list(range(1, head + 1))
    assert alone.version - 1 == head - 2, "each change wrote this document once, but for the two that made it"
    assert set(kept) <= set(range(3, head + 1))
    assert head - 2 - len(kept) <= at_most

    batches = Counter(row.content for row in said)
    assert set(batches.values()) <= {TOGETHER}
    assert [row.number for row in said] == list(range(1, count + 1))
    assert together.version - 1 == len(batches)
    assert {token for token, how in kept.values() if how == "together"} <= set(batches)
    assert together.text == (said[-1].content if said else "0")
    if head in kept:
        assert alone.text.split(" ")[0] == kept[head][0]
    if not address.startswith("postgresql"):
        assert _whole(Path(address) / DATABASE_FILE)


def _whole(file: Path) -> bool:
    connection = sqlite3.connect(file)
    try:
        return bool(connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)])
    finally:
        connection.close()
