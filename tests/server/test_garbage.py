"""Collections of garbage look at what is new, so that they do not hold the event loop for long."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from weakref import ref

import pytest

from fabula.server import garbage
from fabula.server.garbage import limit_collections


class Node:
    """Something that can be part of a cycle."""

    def __init__(self) -> None:
        self.other: object = self


async def wait_for(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


def test_a_whole_collection_does_not_look_again_at_what_survived_one() -> None:
    before, thresholds = gc.get_freeze_count(), gc.get_threshold()

    async def run() -> None:
        async with limit_collections(lambda: 0):
            kept = [Node() for _ in range(1_000)]
            gc.collect()
            assert gc.get_freeze_count() >= before + len(kept)
            assert len(gc.get_objects()) < len(kept)

    asyncio.run(run())
    assert gc.get_freeze_count() == 0
    assert gc.get_threshold() == thresholds


def test_new_cycles_are_freed_and_old_ones_when_no_requests_come_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(garbage, "MIN_SECONDS", 0.05)

    async def run() -> None:
        async with limit_collections(lambda: 0):
            old = Node()
            gc.collect()
            gone_old, gone_new = ref(old), ref(Node())
            del old
            gc.collect()
            assert gone_new() is None
            assert gone_old() is not None
            await wait_for(lambda: gone_old() is None)

    asyncio.run(run())


def test_while_requests_come_in_old_cycles_wait_for_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(garbage, "MIN_SECONDS", 0.05)
    requests = 0

    def count() -> int:
        nonlocal requests
        requests += 1
        return requests

    async def run() -> None:
        async with limit_collections(count):
            old = Node()
            gc.collect()
            gone = ref(old)
            del old
            await asyncio.sleep(0.2)
            assert gone() is not None
            monkeypatch.setattr(garbage, "MAX_SECONDS", 0.1)
            await wait_for(lambda: gone() is None)

    asyncio.run(run())
