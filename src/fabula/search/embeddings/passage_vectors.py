"""The vectors of a project's passages: made in the background, stored in the cache folder, compared at once (sav-1).

`set_texts` says which texts there are. A text without a vector gets one in the background and scores 0 until then. A
request waits only for the vector of its query (`query_embedding.py`). `embedding_error` says why no vectors are made,
`cache_error` why they are not stored; search then goes by words alone.

    rows = vectors.set_texts(texts, previous)      # once for every index, with the rows of the previous one
    direction = vectors.embed_query(query.parts)   # None where there is no vector
    scores = vectors.scores(direction, rows)       # one number for each text, in order
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import FabulaError
from fabula.search.embeddings.background_embedding import FIRST_WAIT, BackgroundEmbedding, Progress
from fabula.search.embeddings.embedder import Embedder
from fabula.search.embeddings.query_embedding import QueryEmbedder
from fabula.search.embeddings.vector_cache import VectorCache, text_key
from fabula.search.embeddings.vector_pool import MAX_VECTORS, TextRows, VectorPool
from fabula.search.index import disk_cache

WRITE_EVERY = 1024  # vectors
MAX_UNUSED = 1024  # vectors, besides as many as are used, before the pool drops unused ones

Array = NDArray[np.float32]


def vector_folder(project_id: str) -> Path:
    """The folder with the vectors of one project."""
    return disk_cache.cache_folder() / "vectors" / blake2b(project_id.encode(), digest_size=12).hexdigest()


class PassageVectors:
    """Vectors by one embedder, stored in a folder if one is given."""

    def __init__(self, embedder: Embedder, folder: Path | None = None, *, first_wait: float = FIRST_WAIT) -> None:
        """Nothing is read or embedded yet; after a failure the next try is `first_wait` seconds later."""
        self.embedder = embedder
        self.cache_error = ""
        self._queries = QueryEmbedder(embedder)
        self._background = BackgroundEmbedding(self._embed_batch, self._write, first_wait=first_wait)
        self._pool = VectorPool()
        self._cache = VectorCache(folder, embedder.name) if folder is not None else None
        self._lock = Lock()  # of what follows
        self._is_loaded = False
        self._text_rows: WeakSet[TextRows] = WeakSet()
        self._unwritten: list[bytes] = []  # hashes of vectors that are in no file yet
        self._batch_error = ""

    def set_texts(self, texts: Sequence[str], previous: TextRows | None = None, *, fill: bool = True) -> TextRows:
        """Set which texts there are; missing vectors are made in the background, unless `fill` is false."""
        known: Mapping[str, bytes] = (
            dict(zip(previous.texts, previous.keys, strict=True)) if previous is not None else {}
        )
        keys = [known[text] if text in known else self._make_key(text) for text in texts]
        rows = TextRows(texts, keys)
        with self._lock:
            self._load()
            self._text_rows.add(rows)
            used = self._used_texts()
            if len(self._pool) > 2 * len(used) + MAX_UNUSED:
                self._pool.keep_only(used.keys())
        missing = [(key, text) for key, text in used.items() if key not in self._pool]
        self._background.set_texts(dict(missing[: MAX_VECTORS - len(self._pool)]), start=fill)
        return rows

    def embed_query(self, parts: Sequence[tuple[str, float]]) -> Array | None:
        """The vector of texts with their weights; None where there is none, with a reason in `embedding_error`."""
        return self._queries.embed(parts)

    def scores(self, query: Array, texts: TextRows) -> Array:
        """The cosine similarity of each text with a query, from -1 to 1; 0 for texts without a vector."""
        return self._pool.scores(query, texts)

    def has_vectors(self, texts: TextRows) -> NDArray[np.bool_]:
        """Which of these texts have a vector."""
        return self._pool.has_vectors(texts)

    def fill(self, progress: Progress | None = None) -> None:
        """Make all missing vectors while the caller waits; stops at the first failure."""
        self._background.run_now(progress)

    def stop(self, seconds: float = 5.0) -> None:
        """Stop the background work; finished vectors stay in the cache folder."""
        self._background.stop(seconds)

    @property
    def progress(self) -> tuple[int, int]:
        """How many of the needed vectors exist, and how many are needed."""
        with self._lock:
            total = len(self._used_texts())
        return total - len(self._background), total

    @property
    def embedding_error(self) -> str:
        """Why the last attempt to make vectors failed."""
        return self._queries.error or self._batch_error

    def _make_key(self, text: str) -> bytes:
        return text_key(text) if self.embedder.can_read(text) else b""

    def _used_texts(self) -> dict[bytes, str]:
        """All texts that are still in use, by hash."""
        return {key: text for rows in self._text_rows for key, text in zip(rows.keys, rows.texts, strict=True) if key}

    def _load(self) -> None:
        if self._is_loaded or self._cache is None:
            return
        self._is_loaded = True
        try:
            for keys, vectors in self._cache.read():
                self._pool.add(keys, vectors)
        except OSError as error:
            self.cache_error = error.strerror or type(error).__name__

    def _embed_batch(self, batch: Mapping[bytes, str]) -> bool:
        """Embed a batch of the background work; returns whether it succeeded."""
        try:
            vectors = self.embedder.embed(list(batch.values()))
        except FabulaError as error:
            self._batch_error = error.sentence
            return False
        self._batch_error = ""
        self._pool.add(list(batch), vectors)
        with self._lock:
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
                    self._cache.replace(*self._pool.get_all())
                else:
                    self._cache.write(*self._pool.get_some(new))
            except OSError as error:
                self.cache_error = error.strerror or type(error).__name__
