"""Keeps Python's collector of reference cycles from holding the event loop.

A whole collection looks at every object of the process. With some projects in memory that takes a tenth of a second or
more, in which no thread runs. So what has survived a whole collection is set aside (`gc.freeze`), and the next one
looks only at what is new. Almost everything is freed without this collector, by counting references; an earlier version
of a project must be (`tests/workspace/test_views.py`), because each edit makes one. Cycles among what was set aside are
looked for when no requests come in, and once an hour in any case.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

THRESHOLDS = (700, 10, 3)  # by default (700, 10, 10): a whole collection looks at a third as many new objects
LOOK_SECONDS = 5.0  # without requests, which are long enough for a whole collection
MIN_SECONDS, MAX_SECONDS = 300.0, 3600.0  # from one whole collection to the next, without requests and in any case


@asynccontextmanager
async def limit_collections(count_requests: Callable[[], int]) -> AsyncIterator[None]:
    """Collect in short steps until the block ends; `count_requests` says how many requests there were so far."""
    thresholds = gc.get_threshold()
    gc.callbacks.append(_freeze_survivors)
    gc.set_threshold(*THRESHOLDS)
    collect_all()
    task = asyncio.create_task(_collect_when_idle(count_requests))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(_freeze_survivors)
        gc.unfreeze()


def collect_all() -> None:
    """Look for cycles among all objects, also those that were set aside."""
    gc.unfreeze()
    gc.collect()
    gc.collect()  # of nothing: otherwise the next one would wait until a quarter of all objects are new


def _freeze_survivors(phase: str, info: dict[str, int]) -> None:
    if phase == "stop" and info["generation"] == 2:
        gc.freeze()


async def _collect_when_idle(count_requests: Callable[[], int]) -> None:
    loop = asyncio.get_running_loop()
    collected, before = loop.time(), count_requests()
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        is_idle, before = count_requests() == before, count_requests()
        if loop.time() - collected >= (MIN_SECONDS if is_idle else MAX_SECONDS):
            collect_all()
            collected = loop.time()
