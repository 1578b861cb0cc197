"""Cancellation tokens: how a running job learns that it should end, and reports what it has cost.

A thread cannot be ended from outside, so a handler checks its token between steps, or passes `wait` to whatever waits
for it. A handler reports costs as they arise: they are counted however the job ends. Before each thing that costs money
it confirms its lease, so that two workers never pay for one job after a program stood still or a clock jumped.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message

_SENTENCES = {
    Code.JOB_CANCELLED: message("The job was cancelled."),
    Code.JOB_STOPPED: message("The program that runs the job is ending. The job is queued again."),
    Code.JOB_TIMEOUT: message("The job took longer than allowed."),
    Code.JOB_LEASE_LOST: message("Another worker has the job now."),
}


class CancellationToken:
    """The token that a handler gets with its job."""

    def __init__(self, seconds: float = float("inf"), *, renew_lease: Callable[[], bool] = lambda: True) -> None:
        """`renew_lease` returns False where another worker has the job."""
        self._renew_lease = renew_lease
        self._deadline = time.monotonic() + seconds
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._cost_micros = 0
        self.reason: Code | None = None

    @property
    def is_cancelled(self) -> bool:
        """Whether the job should end."""
        return self._event.is_set()

    @property
    def remaining_seconds(self) -> float:
        """Seconds until the job's timeout."""
        return max(self._deadline - time.monotonic(), 0.0)

    def wait(self, seconds: float) -> bool:
        """Sleep, at most until the job should end; return whether it should."""
        return self._event.wait(seconds)

    def raise_if_cancelled(self) -> None:
        """Raise if the job should end: the simplest check for a handler."""
        if self.is_cancelled:
            reason = self.reason or Code.JOB_STOPPED
            raise FabulaError(reason, _SENTENCES[reason])

    def confirm_lease(self) -> None:
        """Renew the lease before something that costs money; raise if the job should end or another worker has it."""
        self.raise_if_cancelled()
        if not self._renew_lease():
            self.cancel(Code.JOB_LEASE_LOST)
            self.raise_if_cancelled()

    def cancel(self, reason: Code) -> None:
        """Tell the job to end; the first reason counts."""
        with self._lock:
            if not self._event.is_set():
                self.reason = reason
                self._event.set()

    def add_cost(self, micros: int) -> None:
        """Report a cost, in millionths of the currency."""
        if not isinstance(micros, int) or isinstance(micros, bool) or micros < 0:
            raise FabulaError(
                Code.JOB_ANSWER_INVALID, message("A cost is a whole number of millionths, and at least 0.")
            )
        with self._lock:
            self._cost_micros += micros

    @property
    def cost_micros(self) -> int:
        """The cost that was reported so far."""
        with self._lock:
            return self._cost_micros
