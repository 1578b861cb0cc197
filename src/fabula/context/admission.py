"""A queue with a bound, then backpressure: a few assemblies a document at once, a few more waiting.

And turns, so that threads do not get in each other's way.
"""

from __future__ import annotations

import threading

from fabula.core.errors import Code, FabulaError


class Turnstile:
    """Lets `at_once` callers through for each key, and lets `waiting` more stand in line."""

    def __init__(self, at_once: int, waiting: int) -> None:
        self._at_once = at_once
        self._waiting = waiting
        self._inside: dict[str, int] = {}
        self._line: dict[str, int] = {}
        self._lock = threading.Lock()
        self._turn = threading.Condition(self._lock)

    def enter(self, key: str) -> None:
        """Take a place, waiting for one if need be. Those already inside are never disturbed."""
        with self._lock:
            if self._inside.get(key, 0) >= self._at_once:
                if self._line.get(key, 0) >= self._waiting:
                    raise FabulaError(
                        Code.BACKPRESSURE,
                        f"{self._at_once} assemblies of this document are running and {self._waiting} are waiting. "
                        "Try again in a moment; nothing that runs is disturbed.",
                    )
                self._line[key] = self._line.get(key, 0) + 1
                self._turn.wait_for(lambda: self._inside.get(key, 0) < self._at_once)
                self._leave(self._line, key)
            self._inside[key] = self._inside.get(key, 0) + 1

    def leave(self, key: str) -> None:
        """Give the place back."""
        with self._lock:
            self._leave(self._inside, key)
            if self._line:
                self._turn.notify_all()

    @staticmethod
    def _leave(places: dict[str, int], key: str) -> None:
        left = places[key] - 1
        if left:
            places[key] = left
        else:
            del places[key]


class Turns:
    """One after the other, as long as that is quick.

    Python runs one thread at a time. Threads that compete for it are made to change places every few milliseconds,
    which costs more than letting each finish. So each waits for its turn, but not for long and not in a crowd:
    whoever has it may be waiting for something else, and nothing goes wrong where two run at once.
    """

    def __init__(self, patience: float = 0.05, seats: int = 16) -> None:
        """`patience` is in seconds; so many as there are `seats` may wait."""
        self._lock = threading.Lock()
        self._patience = patience
        self._seats = [None] * seats

    def take(self) -> bool:
        """Wait for a turn; False where there is no seat, or it did not come in time."""
        if self._lock.acquire(blocking=False):
            return True
        try:
            self._seats.pop()
        except IndexError:
            return False
        try:
            return self._lock.acquire(timeout=self._patience)
        finally:
            self._seats.append(None)

    def give(self) -> None:
        """Let the next one have it."""
        self._lock.release()
