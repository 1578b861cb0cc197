"""Stop: how a job that is running learns that it should end, and says what it has spent.

Nobody can end a thread from outside, so a handler looks at its token between steps, or hands `wait` to whatever
waits for it. Money is reported as it is spent: it is counted whatever becomes of the job.
"""

from __future__ import annotations

import threading
import time

from fabula.core.errors import Code, FabulaError

_SENTENCES = {
    Code.JOB_CANCELLED: "The job was cancelled.",
    Code.JOB_STOPPED: "The program that runs the job ends; the job is queued again.",
    Code.JOB_TIMEOUT: "The job took longer than it may.",
    Code.JOB_LEASE_LOST: "The job is held by somebody else by now.",
}


class Stop:
    """The token that a handler is given beside its job."""

    def __init__(self, seconds: float = float("inf")) -> None:
        self._until = time.monotonic() + seconds
        self._asked = threading.Event()
        self._lock = threading.Lock()
        self._spent = 0
        self.why: Code | None = None

    @property
    def asked(self) -> bool:
        """Should the job end?"""
        return self._asked.is_set()

    @property
    def left(self) -> float:
        """Seconds until its time is up."""
        return max(self._until - time.monotonic(), 0.0)

    def wait(self, seconds: float) -> bool:
        """Sleep, but no longer than until the job should end; says whether it should."""
        return self._asked.wait(seconds)

    def check(self) -> None:
        """Raise where the job should end: the plainest way for a handler to obey."""
        if self.asked:
            why = self.why or Code.JOB_STOPPED
            raise FabulaError(why, _SENTENCES[why])

    def ask(self, why: Code) -> None:
        """Ask the job to end; the first reason stays."""
        with self._lock:
            if not self._asked.is_set():
                self.why = why
                self._asked.set()

    def spend(self, micros: int) -> None:
        """Report money that was just spent, in millionths."""
        if not isinstance(micros, int) or isinstance(micros, bool) or micros < 0:
            raise FabulaError(Code.JOB_ANSWER_INVALID, "Money is reported as a whole number of millionths, from 0 up.")
        with self._lock:
            self._spent += micros

    @property
    def spent(self) -> int:
        """What was reported so far."""
        with self._lock:
            return self._spent
