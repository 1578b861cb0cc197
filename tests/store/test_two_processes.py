"""Two processes, several threads each, one project: nobody's change is lost and nobody meets a lock."""

from __future__ import annotations

import json
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from subprocess import Popen

import pytest
from sqlalchemy.pool import QueuePool

from fabula.conversation.tables import messages
from fabula.core.errors import Code, FabulaError
from fabula.manuscript import documents
from fabula.manuscript.tables import documents as rows
from fabula.store.store import Store
from tests.store.workers import COUNTERS, create_project, start, total

SECONDS = os.environ.get("FABULA_LONG", "2")  # `FABULA_LONG=30` is the run that counts


def test_two_processes_write_one_project_and_lose_nothing(store: Store, address: str) -> None:
    create_project(store, "shared")
    with ExitStack() as stack:
        processes = [stack.enter_context(start("contend", address, "shared", SECONDS)) for _ in range(2)]
        _together(processes)
        told = [json.loads(_line(process)) for process in processes]
    assert [one["errors"] for one in told] == [[], []]
    done: Counter[str] = sum((Counter(one["done"]) for one in told), Counter())
    assert done["message"] > 0
    assert done["look"] > 0

    changed = sum(done[name] for name in (*COUNTERS, "message"))
    with store.read(project="shared") as reading:
        for name in COUNTERS:
            row = reading.require(rows, id=name)
            assert (int(row.text), row.version) == (done[name], done[name] + 1)
        numbers = [row.number for row in reading.rows(messages, order=(messages.c.number,))]
        assert numbers == list(range(1, done["message"] + 1))
        assert total(reading) == changed
        assert reading.version("project") == changed + 2
        late = max(changed - 1_000, 0)
        feed = reading.changes("project", late)
        assert feed is not None
        assert sorted({change.version for change in feed}) == list(range(late + 1, changed + 3))
    print(f"\n{SECONDS} s on {store.engine.name}: {dict(done)}")


def test_many_threads_write_through_one_store(store: Store) -> None:
    create_project(store, "p")

    def write(number: int) -> int:
        with store.write(project="p") as tx:
            documents.add(tx, str(number))
        return tx.versions["project"]

    with ThreadPoolExecutor(24) as pool:
        versions = list(pool.map(write, range(96)))
    assert sorted(versions) == list(range(3, 99)), "every writer had a version of its own"
    with store.read(project="p") as reading:
        places = [row.place for row in reading.rows(rows, only=("place",))]
    assert sorted(places) == list(range(100))


def test_threads_that_come_and_go_leave_no_connection_open(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(40):
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(store.versions, project="p").result() == (0, 0)
    assert len(os.listdir("/proc/self/fd")) < before + 40
    store.close()


def test_more_at_once_than_the_store_can_serve_are_told_that_it_is_busy(store: Store) -> None:
    assert isinstance(store.engine.pool, QueuePool)
    size = store.engine.pool.size() + store.engine.pool._max_overflow
    store.engine.pool._timeout = 0.05
    with ExitStack() as stack:
        for _ in range(size):
            stack.enter_context(store.read(project="p"))
        with pytest.raises(FabulaError) as refused, store.read(project="p"):
            pass
        assert refused.value.code is Code.STORE_BUSY
    with store.read(project="p") as reading:
        assert reading.version("project") == 0


def test_a_writer_that_waits_too_long_is_told_that_the_store_is_busy(
    address: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_project(store, "p")
    monkeypatch.setattr("fabula.store.connections.BUSY_SECONDS", 1)
    hasty = Store.open(address)
    with store.write(project="p") as tx:
        documents.add(tx, "Slow")
        with pytest.raises(FabulaError) as refused, hasty.write(project="p"):
            pass
        assert refused.value.code is Code.STORE_BUSY
        with hasty.read(project="p") as reading:
            assert reading.count(rows) == 4, "nobody who reads has to wait"
    with hasty.write(project="p") as tx:
        documents.add(tx, "Quick")
    hasty.close()


def _together(processes: list[Popen[str]]) -> None:
    """Let all go at the same moment."""
    for process in processes:
        assert _line(process) == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()


def _line(process: Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()
