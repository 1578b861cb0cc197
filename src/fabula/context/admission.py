"""Admission of assemblies: a few of one document at once, a few more waiting, then backpressure (bud-8).

A caller that has a thread of its own waits in it (`admit`). A caller on an event loop takes a place, and awaits it
without a thread (`enter` and `leave`). Places are given in the order in which they were asked for.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future
from threading import Lock

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message

# A place that was free at once. To make a future takes longer than to admit a caller, and so does asking one.
FREE_PLACE: Future[None] = Future()
FREE_PLACE.set_result(None)


class AdmissionQueue:
    """Admits `max_running` callers for each key at a time; `max_waiting` more may wait."""

    def __init__(self, max_running: int, max_waiting: int) -> None:
        self._max_running = max_running
        self._max_waiting = max_waiting
        self._running: dict[str, int] = {}
        self._waiting: dict[str, deque[Future[None]]] = {}
        self._lock = Lock()

    def admit(self, key: str) -> Admission:
        """Run the body once there is a place for it, or refuse. Callers that run are never disturbed."""
        return Admission(self, key)

    def enter(self, key: str) -> Future[None]:
        """Ask for a place, or refuse. The future is done when the place is free; `leave` gives it back in any case."""
        with self._lock:
            if self._running.get(key, 0) < self._max_running:
                self._running[key] = self._running.get(key, 0) + 1
                return FREE_PLACE
            line = self._waiting.get(key, ())
            if len(line) >= self._max_waiting:
                raise FabulaError(
                    Code.BACKPRESSURE,
                    message(
                        "{running} prompts of this document are being made and {waiting} are waiting. "
                        "Try again in a moment; those that are being made go on.",
                        running=self._max_running,
                        waiting=self._max_waiting,
                    ),
                )
            place: Future[None] = Future()
            self._waiting.setdefault(key, deque()).append(place)
        return place

    def count_waiting(self) -> int:
        """The number of callers that wait."""
        with self._lock:
            return sum(map(len, self._waiting.values()))

    def leave(self, key: str, place: Future[None]) -> None:
        """Give a place back, or stop waiting for one; whoever waits longest gets it."""
        granted: Future[None] | None = None
        with self._lock:
            line = self._waiting.get(key)
            if line is not None and place in line:
                line.remove(place)
            elif place is FREE_PLACE or not place.cancelled():
                while line and granted is None:
                    following = line.popleft()
                    granted = following if following.set_running_or_notify_cancel() else None
                if granted is None:
                    self._running[key] -= 1
                    if not self._running[key]:  # so that the table does not grow
                        del self._running[key]
            if line is not None and not line:
                del self._waiting[key]
        if granted is not None:
            granted.set_result(None)


class Admission:
    """A place for one caller while a block runs; a generator would take three times as long."""

    __slots__ = ("_key", "_place", "_queue")

    def __init__(self, queue: AdmissionQueue, key: str) -> None:
        self._queue, self._key = queue, key

    def __enter__(self) -> None:
        self._place = self._queue.enter(self._key)
        if self._place is not FREE_PLACE:
            try:
                self._place.result()
            except BaseException:
                self._queue.leave(self._key, self._place)
                raise

    def __exit__(self, *_: object) -> None:
        self._queue.leave(self._key, self._place)
