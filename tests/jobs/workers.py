"""Worker processes that the tests kill: `python -m tests.jobs.workers` starts one for every line it reads.

A line is `WHAT ADDRESS`. Each process says its number, then the key of every job it begins; a line says nothing
that has not happened.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import psycopg

from fabula.jobs.cancellation import CancellationToken
from fabula.jobs.model import Job, JobHandler, JobKind, JobOutcome
from fabula.jobs.worker import Worker
from fabula.store.schema import all_tables
from fabula.store.store import Store
from tests.jobs.fake_jobs import KIND, add_document_handler

WARM = (psycopg,)  # imported before the forks, so that a child is at work at once
ROOT = Path(__file__).parents[2]
LEASE = 2.0  # seconds


def start() -> subprocess.Popen[str]:
    """A process that forks workers, quickly."""
    command = [sys.executable, "-m", "tests.jobs.workers"]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def print_line(*words: object) -> None:
    """One line, out of this process before the next step."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def never_ends(job: Job, stop: CancellationToken) -> JobOutcome:
    """Begins a job and never ends it."""
    print_line("began", job.key)
    time.sleep(60)
    return add_document_handler(job, stop)


def ends_soon(job: Job, stop: CancellationToken) -> JobOutcome:
    """Ends a job at about the moment when it is killed."""
    print_line("began", job.key)
    time.sleep(random.uniform(0.0, 0.03))
    return add_document_handler(job, stop)


HANDLERS: dict[str, JobHandler] = {"never_ends": never_ends, "ends_soon": ends_soon}


def work(what: str, address: str) -> None:
    """Take one job after the other."""
    kind = JobKind(handler=HANDLERS[what], max_tries=1_000, first_delay=0.0)
    with Worker(Store.open(address), {KIND: kind}, threads=1, lease_seconds=LEASE, poll_seconds=0.01):
        time.sleep(600)


def main() -> None:
    """For every line, a fresh process."""
    all_tables()  # else every child's first change waits until all rooms are imported
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            print_line("pid", os.getpid())
            work(*line.split())
            os._exit(0)
        os.waitpid(child, 0)
        print_line("gone")


if __name__ == "__main__":
    main()
