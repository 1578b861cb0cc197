"""Admission of assemblies: a few of one document at once, a few more waiting, then backpressure (bud-8)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message


class AdmissionQueue:
    """Admits `max_running` callers for each key at a time; `max_waiting` more may wait."""

    def __init__(self, max_running: int, max_waiting: int) -> None:
        self._max_running = max_running
        self._max_waiting = max_waiting
        self._running: dict[str, int] = {}
        self._waiting: dict[str, int] = {}
        self._changed = threading.Condition()

    @contextmanager
    def admit(self, key: str) -> Iterator[None]:
        """Run the body once there is a place for it, or refuse. Callers that run are never disturbed."""
        with self._changed:
            if self._running.get(key, 0) >= self._max_running:
                self._wait(key)
            self._running[key] = self._running.get(key, 0) + 1
        try:
            yield
        finally:
            with self._changed:
                _decrement(self._running, key)
                if self._waiting:
                    self._changed.notify_all()

    def _wait(self, key: str) -> None:
        if self._waiting.get(key, 0) >= self._max_waiting:
            raise FabulaError(
                Code.BACKPRESSURE,
                message(
                    "{running} prompts of this document are being made and {waiting} are waiting. "
                    "Try again in a moment; those that are being made go on.",
                    running=self._max_running,
                    waiting=self._max_waiting,
                ),
            )
        self._waiting[key] = self._waiting.get(key, 0) + 1
        try:
            self._changed.wait_for(lambda: self._running.get(key, 0) < self._max_running)
        finally:
            _decrement(self._waiting, key)


def _decrement(counts: dict[str, int], key: str) -> None:
    """Count one less; keys without a count are removed, so that the table does not grow."""
    counts[key] -= 1
    if not counts[key]:
        del counts[key]
