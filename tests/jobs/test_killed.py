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
from fabula.jobs.model import JobState
from fabula.jobs.worker import Worker
from fabula.store.store import Store
from tests.jobs.fake_jobs import KIND, PROJECT, create_project, enqueue_job, list_documents, make_kind, wait_until
from tests.jobs.workers import LEASE, start

NEVER_ENDING = {"sqlite": 50, "postgres": 20}
ENDING_SOON = {"sqlite": 20, "postgres": 10}  # killed while they end, or just before or after


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
    create_project(store)
    chance = random.Random(6)
    kills = NEVER_ENDING[engine] + ENDING_SOON[engine]
    for number in range(kills):
        enqueue_job(store, f"note:{number}")
    for number in range(kills):
        what = "never_ends" if number < NEVER_ENDING[engine] else "ends_soon"
        _kill(launcher, f"{what} {address}", chance.uniform(0.0, 0.03))

    half_done = [one for one in _list_states(store).values() if one is JobState.RUNNING]
    assert half_done, "nobody was killed half-way"
    with Worker(store, {KIND: make_kind(max_tries=1_000)}, lease_seconds=LEASE, poll_seconds=0.01):
        wait_until(lambda: set(_list_states(store).values()) == {JobState.DONE}, seconds=60)
    assert list_documents(store) == sorted(f"note:{number}" for number in range(kills))


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


def _list_states(store: Store) -> dict[str, JobState]:
    with store.read(project=PROJECT) as reading:
        return {one.key: one.state for one in service.list_jobs(reading)}
