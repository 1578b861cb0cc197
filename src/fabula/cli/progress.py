"""Progress of work that takes more than two seconds: what is done, how far it is, and how to stop it.

On a terminal it is a bar on the standard error, which disappears when the work is done. Elsewhere it is one line.
`FABULA_PROGRESS=off` leaves it out, for programs that read what a command says on a slow machine as on a fast one.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fabula.cli.output import printable, translate
from fabula.core.messages import Sentence

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

SHOWN_AFTER = 2.0  # seconds
PROGRESS_VARIABLE, OFF = "FABULA_PROGRESS", "off"


@contextmanager
def show_progress(title: Sentence | str) -> Iterator[Callable[[int, int], None]]:
    """Show progress while a block runs; the function it gives takes how much is done, and of how much.

    The title is a sentence, or the name of a file where the language of this run is not known yet.
    """
    shown = ProgressDisplay(title)
    shown.start()
    try:
        yield shown.update
    finally:
        shown.stop()


class ProgressDisplay:
    """Progress of one piece of work, which appears after two seconds."""

    def __init__(self, title: Sentence | str) -> None:
        # The timer's thread does not know the language of this run.
        has_words = isinstance(title, Sentence)
        self._title = printable(translate("{title} (Ctrl-C stops it)", title=title) if has_words else f"{title} …")
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._done, self._total = 0, 0

    def start(self) -> None:
        """Show the progress two seconds from now, unless the work is done by then or nobody wants to see it."""
        if os.environ.get(PROGRESS_VARIABLE) == OFF:
            return
        with self._lock:
            if self._timer is None:
                self._timer = threading.Timer(SHOWN_AFTER, self._show)
                self._timer.daemon = True
                self._timer.start()

    def update(self, done: int, total: int) -> None:
        """Say how far the work is."""
        self._done, self._total = done, max(total, 1)
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._done, total=self._total)

    def stop(self) -> None:
        """Remove what is shown."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None
            if self._bar is not None:
                self._bar.stop()
            self._bar = None

    def _show(self) -> None:
        with self._lock:
            if self._timer is None:  # stopped meanwhile
                return
            if not sys.stderr.isatty():
                print(self._title, file=sys.stderr, flush=True)
                return
            from rich.console import Console
            from rich.markup import escape
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(escape(self._title), total=self._total or None, completed=self._done)
            self._bar.start()
