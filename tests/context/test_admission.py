"""The turnstile: four assemblies of a document at once, sixteen waiting, then backpressure."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from fabula.context import Called, Code, Engine, FabulaError, Fragment, Limits, Result, Settings, View
from fabula.context.admission import Turns, Turnstile
from fabula.context.request import Ask
from tests.context.builders import ask, engine, refused, story

VIEW = story()


class Door:
    """A source that holds everybody inside until it is opened."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._lock = threading.Lock()
        self.inside = 0

    def fragments(self, asked: Ask, view: View) -> list[Fragment]:
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
    house = engine(instead=[Called(name="search", call=door.fragments)], settings=Settings(limits=limits))
    with ThreadPoolExecutor(callers) as pool:
        calls = [pool.submit(house.assemble, ask(), VIEW) for _ in range(callers)]
        try:
            door.wait_for(min(callers, limits.at_once))
            in_line(house, callers - limits.at_once)
            yield house, door, calls
        finally:
            door.open()


def in_line(house: Engine, many: int) -> None:
    """Wait until so many stand in line; there is no public way to see a line."""
    deadline = time.monotonic() + 10
    line: dict[str, int] = vars(house)["_turnstile"]._line
    while sum(line.values()) < many and time.monotonic() < deadline:
        time.sleep(0.002)


def test_the_twenty_first_caller_is_turned_away_and_the_twenty_are_served() -> None:
    with busy(20) as (house, door, calls):
        refused(Code.BACKPRESSURE, lambda: house.assemble(ask(), VIEW))
        assert door.inside == 4
        door.open()
        results = [call.result(20) for call in calls]
    assert len({result.prompt for result in results}) == 1
    assert all(result.warnings == () for result in results)


def test_once_the_rush_is_over_the_same_engine_serves_again() -> None:
    with busy(20) as (house, door, calls):
        for _ in range(5):
            refused(Code.BACKPRESSURE, lambda: house.assemble(ask(), VIEW))
        door.open()
        expected = calls[0].result(20)
    assert house.assemble(ask(), VIEW).messages == expected.messages


def test_another_document_is_not_kept_waiting() -> None:
    with busy(20) as (house, door, _), ThreadPoolExecutor(1) as pool:
        other = pool.submit(house.assemble, ask(document_id="ch-09"), VIEW)
        door.wait_for(5)
        door.open()
        assert other.result(20).prompt


def test_another_conversation_is_not_kept_waiting() -> None:
    with busy(20) as (house, door, _), ThreadPoolExecutor(1) as pool:
        other = pool.submit(house.assemble, ask(conversation_id="t"), VIEW)
        door.wait_for(5)
        door.open()
        assert other.result(20).prompt


def test_looking_inside_does_not_stand_in_line() -> None:
    with busy(4) as (house, door, _), ThreadPoolExecutor(1) as pool:
        looked = pool.submit(house.inspect, ask(), VIEW)
        door.wait_for(5)
        door.open()
        assert looked.result(20).prompt


def test_limits_can_be_set() -> None:
    limits = Limits(at_once=1, waiting=0, source_seconds=20)
    with busy(1, limits) as (house, door, calls):
        refused(Code.BACKPRESSURE, lambda: house.assemble(ask(), VIEW))
        door.open()
        assert calls[0].result(20).prompt


def test_a_refused_assembly_gives_its_place_back() -> None:
    house = engine(settings=Settings(limits=Limits(at_once=1, waiting=0)))
    for _ in range(3):
        refused(Code.CURSOR_INVALID, lambda: house.assemble(ask(cursor=-1), VIEW))
    assert house.assemble(ask(), VIEW).prompt


def test_the_turnstile_lets_through_in_any_order_and_loses_nobody() -> None:
    gate, most, inside, passed, lock = Turnstile(3, 100), 0, 0, 0, threading.Lock()

    def run() -> None:
        nonlocal most, inside, passed
        gate.enter("k")
        with lock:
            inside += 1
            most = max(most, inside)
        time.sleep(0.001)
        with lock:
            inside -= 1
            passed += 1
        gate.leave("k")

    threads = [threading.Thread(target=run) for _ in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert passed == 60
    assert 1 <= most <= 3


def test_the_turnstile_keeps_nothing_of_those_who_left() -> None:
    gate = Turnstile(1, 0)
    for n in range(100):
        gate.enter(f"document {n}")
        with pytest.raises(FabulaError):
            gate.enter(f"document {n}")
        gate.leave(f"document {n}")
        gate.enter(f"document {n}")
        gate.leave(f"document {n}")


def test_a_turn_is_one_callers_until_it_is_given() -> None:
    turns = Turns(patience=0.01)
    assert turns.take()
    assert not turns.take()
    turns.give()
    assert turns.take()


def test_whoever_has_waited_long_enough_goes_ahead_without_a_turn() -> None:
    door = Door()
    blocked = engine(instead=[Called(name="search", call=door.fragments, waits=False)])
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(blocked.assemble, ask(), VIEW)
        try:
            door.wait_for(1)
            second = pool.submit(blocked.assemble, ask(), VIEW)
            door.wait_for(2)  # it is inside, though the first has not given its turn back
            assert not first.done()
        finally:
            door.open()
        assert first.result(20).prompt == second.result(20).prompt


def test_nobody_waits_for_a_turn_in_a_crowd() -> None:
    turns = Turns(patience=20, seats=1)
    assert turns.take()
    with ThreadPoolExecutor(1) as pool:
        seated = pool.submit(turns.take)
        deadline = time.monotonic() + 10
        while turns._seats and time.monotonic() < deadline:
            time.sleep(0.002)
        assert not turns.take()
        turns.give()
        assert seated.result(20)


def test_a_turn_is_given_back_after_a_refusal() -> None:
    house = engine()
    refused(Code.DOCUMENT_UNKNOWN, lambda: house.assemble(ask(document_id="nowhere"), VIEW))
    assert house._turns is not None
    assert house._turns.take()
