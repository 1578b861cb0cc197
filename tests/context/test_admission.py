"""Admission: four assemblies of a document at once, sixteen waiting, then backpressure."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from fabula.context import Code, Engine, EngineSettings, FabulaError, Fragment, FunctionSource, Limits, Result, View
from fabula.context.admission import AdmissionQueue
from fabula.context.request import SourceRequest
from tests.context.builders import ask, engine, refused, story

VIEW = story()


class Door:
    """A source that holds everybody inside until it is opened."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._lock = threading.Lock()
        self.inside = 0

    def fragments(self, asked: SourceRequest, view: View) -> list[Fragment]:
        with self._lock:
            self.inside += 1
        self._open.wait(20)
        return []

    def open(self) -> None:
        self._open.set()

    def wait_for(self, many: int) -> None:
        deadline = time.monotonic() + 10
        while self.inside < many and time.monotonic() < deadline:
            time.sleep(0.002)
        assert self.inside == many


@contextmanager
def busy(callers: int, limits: Limits | None = None) -> Iterator[tuple[Engine, Door, list[Future[Result]]]]:
    """An engine with so many callers for one document, four of them inside and the rest in line."""
    door = Door()
    limits = limits or Limits(source_seconds=20)
    assembler = engine(
        instead=[FunctionSource(name="search", function=door.fragments)], settings=EngineSettings(limits=limits)
    )
    with ThreadPoolExecutor(callers) as pool:
        calls = [pool.submit(assembler.assemble, ask(), VIEW) for _ in range(callers)]
        try:
            door.wait_for(min(callers, limits.at_once))
            in_line(assembler, callers - limits.at_once)
            yield assembler, door, calls
        finally:
            door.open()


def in_line(assembler: Engine, many: int) -> None:
    """Wait until so many stand in line; there is no public way to see a line."""
    deadline = time.monotonic() + 10
    line: dict[str, deque[Future[None]]] = vars(assembler)["_admission"]._waiting
    while sum(map(len, line.values())) < many and time.monotonic() < deadline:
        time.sleep(0.002)


def test_the_twenty_first_caller_is_turned_away_and_the_twenty_are_served() -> None:
    with busy(20) as (assembler, door, calls):
        refused(Code.BACKPRESSURE, lambda: assembler.assemble(ask(), VIEW))
        assert door.inside == 4
        door.open()
        results = [call.result(20) for call in calls]
    assert len({result.prompt for result in results}) == 1
    assert all(result.warnings == () for result in results)


def test_once_the_rush_is_over_the_same_engine_serves_again() -> None:
    with busy(20) as (assembler, door, calls):
        for _ in range(5):
            refused(Code.BACKPRESSURE, lambda: assembler.assemble(ask(), VIEW))
        door.open()
        expected = calls[0].result(20)
    assert assembler.assemble(ask(), VIEW).messages == expected.messages


def test_another_document_is_not_kept_waiting() -> None:
    with busy(20) as (assembler, door, _), ThreadPoolExecutor(1) as pool:
        other = pool.submit(assembler.assemble, ask(document_id="ch-09"), VIEW)
        door.wait_for(5)
        door.open()
        assert other.result(20).prompt


def test_another_conversation_is_not_kept_waiting() -> None:
    with busy(20) as (assembler, door, _), ThreadPoolExecutor(1) as pool:
        other = pool.submit(assembler.assemble, ask(conversation_id="t"), VIEW)
        door.wait_for(5)
        door.open()
        assert other.result(20).prompt


def test_looking_inside_does_not_stand_in_line() -> None:
    with busy(4) as (assembler, door, _), ThreadPoolExecutor(1) as pool:
        looked = pool.submit(assembler.inspect, ask(), VIEW)
        door.wait_for(5)
        door.open()
        assert looked.result(20).prompt


def test_limits_can_be_set() -> None:
    limits = Limits(at_once=1, waiting=0, source_seconds=20)
    with busy(1, limits) as (assembler, door, calls):
        refused(Code.BACKPRESSURE, lambda: assembler.assemble(ask(), VIEW))
        door.open()
        assert calls[0].result(20).prompt


def test_a_refused_assembly_gives_its_place_back() -> None:
    assembler = engine(settings=EngineSettings(limits=Limits(at_once=1, waiting=0)))
    for _ in range(3):
        refused(Code.CURSOR_INVALID, lambda: assembler.assemble(ask(cursor=-1), VIEW))
    assert assembler.assemble(ask(), VIEW).prompt


def test_the_queue_admits_in_any_order_and_loses_nobody() -> None:
    queue, most, inside, passed, lock = AdmissionQueue(3, 100), 0, 0, 0, threading.Lock()

    def run() -> None:
        nonlocal most, inside, passed
        with queue.admit("k"):
            with lock:
                inside += 1
                most = max(most, inside)
            time.sleep(0.001)
            with lock:
                inside -= 1
                passed += 1

    threads = [threading.Thread(target=run) for _ in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert passed == 60
    assert 1 <= most <= 3


def test_places_are_given_in_the_order_in_which_they_were_asked_for() -> None:
    queue = AdmissionQueue(1, 3)
    first, second, third, fourth = (queue.enter("k") for _ in range(4))
    assert first.done()
    third.cancel()  # somebody on an event loop who went away
    queue.leave("k", third)
    fourth.cancel()
    queue.leave("k", first)
    assert second.done()
    queue.leave("k", second)
    queue.leave("k", fourth)
    with queue.admit("k"):
        pass
    assert (queue._running, queue._waiting) == ({}, {})


def test_the_queue_keeps_nothing_of_those_who_left() -> None:
    queue = AdmissionQueue(1, 0)
    for n in range(100):
        with queue.admit(f"document {n}"), pytest.raises(FabulaError), queue.admit(f"document {n}"):
            pass
        with queue.admit(f"document {n}"):
            pass
    assert (queue._running, queue._waiting) == ({}, {})


def test_an_assembly_that_blocks_does_not_hold_up_another() -> None:
    door = Door()
    blocked = engine(instead=[FunctionSource(name="search", function=door.fragments, blocking=False)])
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(blocked.assemble, ask(), VIEW)
        try:
            door.wait_for(1)
            second = pool.submit(blocked.assemble, ask(), VIEW)
            door.wait_for(2)
            assert not first.done()
        finally:
            door.open()
        assert first.result(20).prompt == second.result(20).prompt
