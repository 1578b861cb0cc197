"""One thread: matrix products that keep to the thread they are called from.

Left to itself, the linear algebra below numpy spreads every product over all cores and waits for the slowest. On a
machine that is busy with something else a short text then takes ten times as long, and while a whole book is worked
on in the background nothing is left for the writer. The limit holds for a whole process, so there is one of it, and
it is lifted when the last who asked for it is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import OpenBLASController, ThreadpoolController


class _Limit:
    """How many work under the limit now, and how to lift it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._holders = 0
        self._lift: Callable[[], None] = lambda: None

    def take(self) -> None:
        with self._lock:
            if not self._holders:
                self._lift = _libraries().limit(limits=1, user_api="blas").restore_original_limits
            self._holders += 1

    def leave(self) -> None:
        with self._lock:
            self._holders -= 1
            if not self._holders:
                # Only the thread that set a limit may lift it, and ours may be another; all of them are done.
                OpenBLASController.clear_controlling_thread(force=True)
                self._lift()
                OpenBLASController.clear_controlling_thread(force=True)


@cache
def _libraries() -> ThreadpoolController:
    """Looked for once, when numpy is loaded for sure."""
    return ThreadpoolController()


_LIMIT = _Limit()


@contextmanager
def one_thread() -> Iterator[None]:
    """While this lasts, matrix products of this process use one thread each."""
    _LIMIT.take()
    try:
        yield
    finally:
        _LIMIT.leave()
