"""Measures how late the event loop is: a task that sleeps for a moment and looks how much later it wakes.

Whatever holds the loop, or keeps the interpreter's lock from it, makes the task late. Nothing of the server may do so
for more than 20 ms.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

INTERVAL_SECONDS = 0.05


async def measure_loop_lag(observe: Callable[[float], None], *, interval: float = INTERVAL_SECONDS) -> None:
    """Report by how many seconds the loop is late, again and again, until the task is cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        expected = loop.time() + interval
        await asyncio.sleep(interval)
        observe(max(0.0, loop.time() - expected))


@asynccontextmanager
async def watch_loop_lag(
    observe: Callable[[float], None], *, interval: float = INTERVAL_SECONDS
) -> AsyncIterator[None]:
    """Measure while the block runs."""
    task = asyncio.create_task(measure_loop_lag(observe, interval=interval))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
