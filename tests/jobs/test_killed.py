"""Workers that are killed half-way: each of their jobs is done later, by another, once."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from subprocess import Popen

import pytest

from fabula.jobs import queue as service
from fabula.jobs.model import State
from fabula.jobs.worker import Worker
from fabula.store.store import Store
from tests.jobs.fake_jobs import KIND, PROJECT, ask, begin, eventually, kind_of, notes
from tests.jobs.workers import LEASE, start

HALF_WAY = {"sqlite": 50, "postgres": 20}
HURRIED = {"sqlite": 20, "postgres": 10}  # killed while they end, or just before or after


@pytest.fixture
def launcher() -> Iterator[Popen[str]]:
    """A process that forks workers, quickly."""
    with start() as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def test_a_job_whose_worker_is_killed_is_done_once_by_another(
    engine: str, address: str, store: Store, launcher: Popen[str]
) -> None:
    begin(store)
    chance = random.Random(6)
    kills = HALF_WAY[engine] + HURRIED[engine]
    for number in range(kills):
        ask(store, f"note:{number}")
    for number in range(kills):
        what = "half_way" if number < HALF_WAY[engine] else "hurried"
        _kill(launcher, f"{what} {address}", chance.uniform(0.0, 0.03))

    half_done = [one for one in _cards(store).values() if one is State.RUNNING]
    assert half_done, "nobody was killed half-way"
    with Worker(store, {KIND: kind_of(tries=1_000)}, lease=LEASE, poll=0.01):
        eventually(lambda: set(_cards(store).values()) == {State.DONE}, seconds=60)
    assert notes(store) == sorted(f"note:{number}" for number in range(kills))


def _kill(launcher: Popen[str], order: str, after: float) -> None:
    """Start a worker, and kill it some time after it began a job."""
    assert launcher.stdin is not None
    assert launcher.stdout is not None
    launcher.stdin.write(order + "\n")
    launcher.stdin.flush()
    name, pid = launcher.stdout.readline().split()
    assert name == "pid"
    assert launcher.stdout.readline().startswith("began")
    time.sleep(after)
    os.kill(int(pid), signal.SIGKILL)
    while (line := launcher.stdout.readline()) != "gone\n":
        assert line, "the launcher is gone"


def _cards(store: Store) -> dict[str, State]:
    with store.read(project=PROJECT) as reading:
        return {one.key: one.state for one in service.listed(reading)}
