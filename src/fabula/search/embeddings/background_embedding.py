"""Embed texts in the background, batch by batch.

There is a thread only while texts are waiting. The set of texts can change at any time; a batch that has begun is
finished. After a failure the thread waits, longer each time, and tries again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from threading import Event, Lock, Thread

BATCH_SIZE = 16  # texts
PAUSE = 0.002  # seconds between two batches, for other threads
FIRST_WAIT, MAX_WAIT = 15.0, 600.0  # seconds after a failure

EmbedBatch = Callable[[Mapping[bytes, str]], bool]
Progress = Callable[[int, int], None]  # texts done, texts in all


class BackgroundEmbedding:
    """The texts that wait for their vectors, by hash, and the thread that embeds them."""

    def __init__(self, embed_batch: EmbedBatch, on_idle: Callable[[], None], *, first_wait: float = FIRST_WAIT) -> None:
        """`embed_batch` returns whether it succeeded; `on_idle` is called when there is nothing to do for now."""
        self._embed_batch = embed_batch
        self._on_idle = on_idle
        self._first_wait = first_wait
        self._lock = Lock()
        self._waiting: dict[bytes, str] = {}
        self._thread: Thread | None = None
        self._stop = Event()

    def __len__(self) -> int:
        return len(self._waiting)

    def set_texts(self, texts: Mapping[bytes, str], *, start: bool = True) -> None:
        """Embed these texts and no others from now on."""
        with self._lock:
            self._waiting = dict(texts)
            if start and self._waiting and self._thread is None and not self._stop.is_set():
                self._thread = Thread(target=self._run, name="search-vectors", daemon=True)
                self._thread.start()

    def run_now(self, progress: Progress | None = None) -> None:
        """Embed everything while the caller waits; stops at the first failure."""
        total = len(self)
        while (batch := self._next_batch()) and self._embed(batch):
            if progress is not None:
                progress(total - len(self), total)
        self._on_idle()

    def stop(self, seconds: float) -> None:
        """Begin no further batch, and wait for the one that has begun."""
        self._stop.set()
        thread = self._thread
        if thread is not None:
            thread.join(seconds)

    def _run(self) -> None:
        wait = self._first_wait
        while not self._stop.is_set():
            batch = self._next_batch()
            if not batch:
                self._on_idle()
                if self._end_if_idle():
                    return
            elif self._embed(batch):
                wait = self._first_wait
                self._stop.wait(PAUSE)
            else:
                self._on_idle()
                self._stop.wait(wait)
                wait = min(2 * wait, MAX_WAIT)
        self._on_idle()

    def _next_batch(self) -> dict[bytes, str]:
        with self._lock:
            return dict(islice(self._waiting.items(), BATCH_SIZE))

    def _embed(self, batch: Mapping[bytes, str]) -> bool:
        has_succeeded = self._embed_batch(batch)
        if has_succeeded:
            with self._lock:
                for key in batch:
                    self._waiting.pop(key, None)
        return has_succeeded

    def _end_if_idle(self) -> bool:
        """Give up the thread if there is still nothing to do; the next `set_texts` starts another."""
        with self._lock:
            if not self._waiting:
                self._thread = None
            return self._thread is None
