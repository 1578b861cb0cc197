"""The vectors of a project's passages: made in the background, stored in the cache folder, compared at once (sav-1).

`set_texts` says which texts there are. A text without a vector gets one in the background, batch by batch, and scores
0 until then. There is a thread only while texts are waiting; after a failure it waits, longer each time, and tries
again. A request waits only for the vector of its query (`query_embedding.py`). `embedding_error` says why no vectors
are made, `cache_error` why they are not stored; search then goes by words alone.

    rows = vectors.set_texts(texts, previous)      # once for every index, with the rows of the previous one
    direction = vectors.embed_query(query.parts)   # None where there is no vector
    scores = vectors.scores(direction, rows)       # one number for each text, in order
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from itertools import accumulate, chain, islice
from pathlib import Path
from threading import Event, Lock, Thread
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import FabulaError
from fabula.core.messages import Sentence
from fabula.search.embeddings.embedder import Embedder
from fabula.search.embeddings.query_embedding import QueryEmbedder
from fabula.search.embeddings.vector_cache import VectorCache, text_key
from fabula.search.embeddings.vector_pool import MAX_VECTORS, TextRows, VectorPool
from fabula.search.index import disk_cache
from fabula.text.sentences import find_sentence_starts

BATCH_SIZE = 32  # texts
WHOLE_CHARACTERS = 400  # a longer text has a vector for each of its parts,
PART_CHARACTERS = 250  # which are whole sentences of so many characters or more,
MAX_PARTS = 64  # and not more than these; what follows is found by its words alone
PAUSE = 0.002  # seconds between two batches, for other threads
FIRST_WAIT, MAX_WAIT = 15.0, 600.0  # seconds after a failure
WRITE_EVERY = 1024  # vectors
MAX_UNUSED = 1024  # vectors, besides as many as are used, before the pool drops unused ones

Array = NDArray[np.float32]
Progress = Callable[[int, int], None]  # texts done, texts in all


def vector_folder(project_id: str) -> Path:
    """The folder with the vectors of one project."""
    return disk_cache.cache_folder() / "vectors" / blake2b(project_id.encode(), digest_size=12).hexdigest()


def split_into_parts(text: str) -> tuple[str, ...]:
    """A long text in parts of a few sentences, because a model blurs what a long text says, or reads its beginning."""
    parts: list[str] = []
    start = 0
    for end in [*find_sentence_starts(text)[1:], len(text)]:
        is_long = end - start >= PART_CHARACTERS and len(text) - end >= PART_CHARACTERS // 3
        if (is_long or end == len(text)) and (part := text[start:end].strip()):
            parts.append(part)
            start = end
    return tuple(parts[:MAX_PARTS]) or (text,)


class PassageVectors:
    """Vectors by one embedder, stored in a folder if one is given."""

    def __init__(self, embedder: Embedder, folder: Path | None = None, *, first_wait: float = FIRST_WAIT) -> None:
        """Nothing is read or embedded yet; after a failure the next try is `first_wait` seconds later."""
        self.embedder = embedder
        self.cache_error = ""
        self._queries = QueryEmbedder(embedder)
        self._pool = VectorPool()
        self.embed_query, self.scores, self.has_vectors = self._queries.embed, self._pool.scores, self._pool.has_vectors
        self._cache = VectorCache(folder, embedder.name) if folder is not None else None
        self._first_wait = first_wait
        self._stop = Event()
        self._lock = Lock()  # of what follows
        self._thread: Thread | None = None
        self._is_loaded = False
        self._long_texts: dict[str, tuple[str, ...]] = {}  # the parts of each
        self._text_rows: WeakSet[TextRows] = WeakSet()
        self._waiting: dict[bytes, str] = {}  # texts that wait for their vectors, by hash
        self._unwritten: list[bytes] = []  # hashes of vectors that are in no file yet
        self._batch_error: Sentence | None = None

    def set_texts(self, texts: Sequence[str], previous: TextRows | None = None, *, fill: bool = True) -> TextRows:
        """Set which texts there are; missing vectors are made in the background, unless `fill` is false."""
        known = dict(zip(previous.parts, previous.keys, strict=True)) if previous is not None else {}
        long_texts = [text for text in texts if len(text) > WHOLE_CHARACTERS]
        self._long_texts = {text: self._long_texts.get(text) or split_into_parts(text) for text in long_texts}
        texts_in_parts = [self._long_texts.get(text) or (text,) for text in texts]
        first_parts = [0, *accumulate(map(len, texts_in_parts))][:-1]
        parts = [*chain.from_iterable(texts_in_parts)]
        keys = [known[part] if part in known else self._make_key(part) for part in parts]
        rows = TextRows(parts, keys, first_parts)
        with self._lock:
            self._load()
            self._text_rows.add(rows)
            used = self._used_texts()
            if len(self._pool) > 2 * len(used) + MAX_UNUSED:
                self._pool.keep_only(used.keys())
            missing = ((key, text) for key, text in used.items() if key not in self._pool)
            self._waiting = dict(islice(missing, MAX_VECTORS - len(self._pool)))
            if fill and self._waiting and self._thread is None and not self._stop.is_set():
                self._thread = Thread(target=self._run, name="search-vectors", daemon=True)
                self._thread.start()
        return rows

    def fill(self, progress: Progress | None = None) -> None:
        """Make all missing vectors while the caller waits; stops at the first failure."""
        total = len(self._waiting)
        while (batch := self._next_batch()) and self._embed(batch):
            if progress is not None:
                progress(total - len(self._waiting), total)
        self._write()

    def stop(self, seconds: float = 5.0) -> None:
        """Begin no further batch, and wait for the one that has begun; finished vectors stay in the cache folder."""
        self._stop.set()
        thread = self._thread
        if thread is not None:
            thread.join(seconds)

    @property
    def progress(self) -> tuple[int, int]:
        """How many of the needed vectors exist, and how many are needed."""
        with self._lock:
            total = len(self._used_texts())
            return total - len(self._waiting), total

    @property
    def embedding_error(self) -> Sentence | None:
        """Why the last attempt to make vectors failed."""
        return self._queries.error or self._batch_error

    def _make_key(self, text: str) -> bytes:
        return text_key(text) if self.embedder.can_read(text) else b""

    def _used_texts(self) -> dict[bytes, str]:
        """All texts that are still in use, by hash."""
        return {key: text for rows in self._text_rows for key, text in zip(rows.keys, rows.parts, strict=True) if key}

    def _load(self) -> None:
        if self._is_loaded or self._cache is None:
            return
        self._is_loaded = True
        try:
            for keys, vectors in self._cache.read():
                self._pool.add(keys, vectors)
        except OSError as error:
            self.cache_error = error.strerror or type(error).__name__

    def _run(self) -> None:
        wait = self._first_wait
        while not self._stop.is_set():
            batch = self._next_batch()
            if not batch:
                self._write()
                with self._lock:
                    if not self._waiting:  # still nothing to do; the next `set_texts` starts another thread
                        self._thread = None
                        return
            elif self._embed(batch):
                wait = self._first_wait
                self._stop.wait(PAUSE)
            else:
                self._write()
                self._stop.wait(wait)
                wait = min(2 * wait, MAX_WAIT)
        self._write()

    def _next_batch(self) -> dict[bytes, str]:
        with self._lock:
            return dict(islice(self._waiting.items(), BATCH_SIZE))

    def _embed(self, batch: Mapping[bytes, str]) -> bool:
        """Embed a batch of texts; returns whether that succeeded."""
        try:
            vectors = self.embedder.embed(list(batch.values()))
        except FabulaError as error:
            self._batch_error = error.message
            return False
        self._batch_error = None
        self._pool.add(list(batch), vectors)
        with self._lock:
            for key in batch:
                self._waiting.pop(key, None)
            self._unwritten += batch
            is_full = len(self._unwritten) >= WRITE_EVERY
        if is_full:
            self._write()
        return True

    def _write(self) -> None:
        """Store new vectors; a folder that cannot be written to is not tried again."""
        with self._lock:
            new, self._unwritten = [key for key in self._unwritten if key in self._pool], []
            if not new or self._cache is None or self.cache_error:
                return
            try:
                if self._cache.has_many_files:
                    self._cache.replace(*self._pool.get_vectors())
                else:
                    self._cache.write(*self._pool.get_vectors(new))
            except OSError as error:
                self.cache_error = error.strerror or type(error).__name__
