"""Progress of saving and loading: told often enough to be seen, seldom enough to cost nothing.

Whoever listens may raise to cancel; nothing was changed then.
"""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
_EVERY = 500


class Steps:
    """Counts rows, and tells how many of them are done."""

    def __init__(self, listener: Progress | None, total: int) -> None:
        self._listener = listener
        self._total = total
        self._done = 0
        self._told = 0

    def took(self, rows: int = 1) -> None:
        """Some more rows are done."""
        self._done += rows
        if self._done - self._told >= _EVERY:
            self._tell()

    def finish(self) -> None:
        """Everything is done."""
        self._done = self._total
        self._tell()

    def _tell(self) -> None:
        self._told = self._done
        if self._listener is not None:
            self._listener(min(self._done, self._total), self._total)
