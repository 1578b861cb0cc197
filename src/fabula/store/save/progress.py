"""Progress of saving and loading, reported every few hundred rows.

The listener can raise to cancel; then nothing was changed.
"""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
_REPORT_EVERY = 500  # rows


class ProgressCounter:
    """Counts rows, and reports how many of them are done."""

    def __init__(self, listener: Progress | None, total: int) -> None:
        self._listener = listener
        self._total = total
        self._done = 0
        self._reported = 0

    def advance(self, rows: int = 1) -> None:
        """Count some more rows."""
        self._done += rows
        if self._done - self._reported >= _REPORT_EVERY:
            self._report()

    def finish(self) -> None:
        """Report that everything is done."""
        self._done = self._total
        self._report()

    def _report(self) -> None:
        self._reported = self._done
        if self._listener is not None:
            self._listener(min(self._done, self._total), self._total)
