"""Limit the matrix products of numpy to one thread.

By default the linear algebra library below numpy spreads every product over all cores and waits for the slowest. On a
busy machine a short text then takes ten times as long, and while a book is embedded in the background no core is left
for the writer. The limit holds for the whole process, so it is shared and is lifted when its last user is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import OpenBLASController, ThreadpoolController


class _SharedLimit:
    """Counts the users of the limit, and lifts it after the last one."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._lift: Callable[[], None] = lambda: None

    def acquire(self) -> None:
        with self._lock:
            if not self._users:
                self._lift = _find_libraries().limit(limits=1, user_api="blas").restore_original_limits
            self._users += 1

    def release(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                # Only the thread that set a limit may lift it, and this may be another one; all users are done.
                OpenBLASController.clear_controlling_thread(force=True)
                self._lift()
                OpenBLASController.clear_controlling_thread(force=True)


@cache
def _find_libraries() -> ThreadpoolController:
    """The loaded libraries, found once, when numpy is certainly loaded."""
    return ThreadpoolController()


_LIMIT = _SharedLimit()


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """A context in which matrix products of this process use one thread each."""
    _LIMIT.acquire()
    try:
        yield
    finally:
        _LIMIT.release()
