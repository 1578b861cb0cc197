"""Work in the background gives way to requests, and ends with the process."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from fabula.core import background
from fabula.core.background import ANSWERING, WAITING, start_in_background

PATIENCE = 30.0  # seconds, for what comes at once unless something is broken


class Work:
    """Work in the background that is done one part at a time, and counts its parts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(background, "MAX_WAIT_SECONDS", PATIENCE * 2)
        monkeypatch.setattr(background, "WORK_BESIDE_SECONDS", 0.0)
        self.parts = 0
        self.is_going_on = threading.Event()  # set by each part
        self.is_over = threading.Event()

    def run(self, give_way: Callable[[], None]) -> None:
        while not self.is_over.is_set():
            self.parts += 1
            self.is_going_on.set()
            give_way()

    def wait_for_parts(self, number: int) -> None:
        for _ in range(number):
            self.is_going_on.clear()
            assert self.is_going_on.wait(PATIENCE)


def test_while_a_request_is_answered_at_most_one_more_part_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(monkeypatch)
    start_in_background(work.run, "work")
    work.wait_for_parts(3)
    with ANSWERING:
        before = work.parts
        assert not work.is_over.wait(0.2)
        assert work.parts <= before + 1
    work.wait_for_parts(3)
    work.is_over.set()


def test_work_goes_on_where_the_request_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(monkeypatch)
    start_in_background(work.run, "work")
    with ANSWERING, WAITING:
        work.wait_for_parts(5)
    work.is_over.set()


def test_requests_without_a_pause_do_not_stop_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(monkeypatch)
    monkeypatch.setattr(background, "MAX_WAIT_SECONDS", 0.001)
    start_in_background(work.run, "work")
    with ANSWERING:
        work.wait_for_parts(5)
    work.is_over.set()


def test_other_work_waits_for_work_that_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "MAX_WAIT_FOR_FIRST_SECONDS", PATIENCE * 2)
    work, first = Work(monkeypatch), Work(monkeypatch)
    start_in_background(work.run, "work")
    work.wait_for_parts(3)
    start_in_background(first.run, "first", goes_first=True)
    first.wait_for_parts(3)
    before = work.parts
    first.wait_for_parts(20)
    assert work.parts <= before + 1
    with WAITING:
        work.wait_for_parts(3)
    first.is_over.set()
    work.wait_for_parts(3)
    work.is_over.set()


def test_work_that_goes_first_gives_way_to_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(monkeypatch)
    start_in_background(work.run, "work", goes_first=True)
    work.wait_for_parts(3)
    with ANSWERING:
        before = work.parts
        assert not work.is_over.wait(0.2)
        assert work.parts <= before + 1
    work.wait_for_parts(3)
    work.is_over.set()


def test_work_that_goes_first_without_end_does_not_stop_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "MAX_WAIT_FOR_FIRST_SECONDS", 0.001)
    work, first = Work(monkeypatch), Work(monkeypatch)
    start_in_background(first.run, "first", goes_first=True)
    first.wait_for_parts(1)
    start_in_background(work.run, "work")
    work.wait_for_parts(5)
    first.is_over.set()
    work.is_over.set()


def test_the_process_ends_while_work_goes_on() -> None:
    script = (
        "from fabula.core.background import start_in_background\n"
        "from threading import Event\n"
        "begun = Event()\n"
        "def work(give_way):\n"
        "    while True:\n"
        "        begun.set()\n"
        "        give_way()\n"
        "start_in_background(work, 'work')\n"
        "begun.wait()\n"
        "print('done')\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE * 2)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "done\n", "")
