"""Which leases are those of dead holders: decided by the holder's process or a stopwatch, not by the clock.

When the clock is set ahead, every lease expires at once, though its holder lives and has perhaps paid for an answer. A
living holder renews its lease within a third of the lease's time. So a job is taken from its holder only when the
holder's process on this machine is gone, or when this process has watched the expired lease for its whole time and
nobody renewed it. A program that is started again after a crash does not wait for its own leases.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from sqlalchemy import Row

from fabula.core.ids import new_id

_MAX_HOST = 40  # characters


class LeaseWatch:
    """The expired leases that this process has seen, and how long none of them was renewed."""

    def __init__(self, seconds: float, *, stopwatch: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._stopwatch = stopwatch
        self._seen: dict[tuple[object, ...], float] = {}

    @property
    def is_waiting(self) -> bool:
        """Whether a job with an expired lease has not been requeued yet."""
        return bool(self._seen)

    def find_lost(self, running: Iterable[Row[Any]], at: str) -> list[Row[Any]]:
        """The running jobs whose holders are gone; call it with all that run. `at` is the time of the store."""
        now, lost, seen = self._stopwatch(), list[Row[Any]](), dict[tuple[object, ...], float]()
        for row in running:
            is_lost = _is_gone(row.holder)
            if row.leased_until is None or row.leased_until <= at:
                since = seen[_name_lease(row)] = self._seen.get(_name_lease(row), now)
                is_lost = is_lost or now - since >= self._seconds
            if is_lost:
                lost.append(row)
        self._seen = seen
        return lost

    def forget(self, row: Row[Any]) -> None:
        """Watch a lease no longer, because its job was requeued."""
        self._seen.pop(_name_lease(row), None)


def _name_lease(row: Row[Any]) -> tuple[object, ...]:
    """What changes when a lease is renewed, or given to another."""
    return row.project_id, row.key, row.holder, row.tries, row.leased_until


def make_holder() -> str:
    """A name for a new lease: the machine, the process, and a part that no other lease has."""
    return f"{_host()}:{os.getpid()}:{new_id()}"


@cache
def _host() -> str:
    """This machine, and on Linux the space of process numbers: two containers on one machine may share its name."""
    try:
        space = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        space = ""
    return f"{socket.gethostname()[:_MAX_HOST]}/{space}"


def _is_gone(holder: str) -> bool:
    """Whether the holder was a process of this machine that no longer runs."""
    host, _, rest = holder.rpartition(":")[0].rpartition(":")
    if host != _host() or not rest.isdecimal() or sys.platform == "win32":
        return False
    try:
        os.kill(int(rest), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        pass
    return False
