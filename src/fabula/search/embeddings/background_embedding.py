"""Filling in: work that is done bite by bite in the background and never in anybody's way.

A thread is there only while something is wanted. What is wanted can change at any time; a bite that has begun is
finished. After a failure it waits, longer each time, and tries again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from threading import Event, Lock, Thread

BITE = 16  # texts that are worked on at once
PAUSE = 0.002  # seconds between two bites, for others
FIRST_WAIT, LONGEST_WAIT = 15.0, 600.0  # seconds after a failure

Work = Callable[[Mapping[bytes, str]], bool]
Progress = Callable[[int, int], None]


class Filling:
    """Texts that wait for their vectors, by their hashes."""

    def __init__(self, work: Work, rest: Callable[[], None], *, first_wait: float = FIRST_WAIT) -> None:
        """`work` does a bite and says whether it went well; `rest` is called when there is nothing to do for now."""
        self._work = work
        self._rest = rest
        self._first_wait = first_wait
        self._lock = Lock()
        self._wanted: dict[bytes, str] = {}
        self._thread: Thread | None = None
        self._stop = Event()

    def __len__(self) -> int:
        return len(self._wanted)

    def want(self, texts: Mapping[bytes, str], *, start: bool = True) -> None:
        """These are wanted from now on, and no others."""
        with self._lock:
            self._wanted = dict(texts)
            if start and self._wanted and self._thread is None and not self._stop.is_set():
                self._thread = Thread(target=self._run, name="search-vectors", daemon=True)
                self._thread.start()

    def now(self, progress: Progress | None = None) -> None:
        """Do everything while the caller waits; stops at the first failure."""
        total = len(self)
        while (some := self._next()) and self._bite(some):
            if progress is not None:
                progress(total - len(self), total)
        self._rest()

    def stop(self, seconds: float) -> None:
        """Begin no further bite, and wait for the one that has begun."""
        self._stop.set()
        thread = self._thread
        if thread is not None:
            thread.join(seconds)

    def _run(self) -> None:
        wait = self._first_wait
        while not self._stop.is_set():
            some = self._next()
            if not some:
                self._rest()
                if self._over():
                    return
            elif self._bite(some):
                wait = self._first_wait
                self._stop.wait(PAUSE)
            else:
                self._rest()
                self._stop.wait(wait)
                wait = min(2 * wait, LONGEST_WAIT)
        self._rest()

    def _next(self) -> dict[bytes, str]:
        with self._lock:
            return dict(islice(self._wanted.items(), BITE))

    def _bite(self, some: Mapping[bytes, str]) -> bool:
        well = self._work(some)
        if well:
            with self._lock:
                for one in some:
                    self._wanted.pop(one, None)
        return well

    def _over(self) -> bool:
        """Is there still nothing to do? Then this thread ends, and the next wish starts another."""
        with self._lock:
            if not self._wanted:
                self._thread = None
            return self._thread is None
