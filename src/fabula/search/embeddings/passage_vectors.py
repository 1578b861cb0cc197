"""Vectors of a project's passages: made in the background, kept in the cache folder, compared in one go.

`lay` says which texts there are; whoever has no vector yet gets one by and by, and until then scores 0. Nobody waits
for that, only for the query's own vector (see `asking`). What goes wrong is in `trouble` (no vectors are made) or in
`cache_trouble` (they are not kept) and costs nothing but nearness in meaning.

    laid = vectors.lay(texts, before)              # once for every index, with the one before
    direction = vectors.direction(query.parts)     # None where it cannot be told
    scores = vectors.scores(direction, laid)       # one number a text, in their order
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
from fabula.search.embeddings.background_embedding import FIRST_WAIT, Filling, Progress
from fabula.search.embeddings.dense import Embedder
from fabula.search.embeddings.query_embedding import Asking
from fabula.search.embeddings.vector_cache import Kept, key
from fabula.search.embeddings.vector_pool import MOST, Laid, Pool
from fabula.search.index import disk_cache as cache

WRITE_EVERY = 1024  # vectors
SLACK = 1024  # vectors nobody needs any more, before the pool is tidied

Array = NDArray[np.float32]


def folder_of(project_id: str) -> Path:
    """Where the vectors of one project are kept."""
    return cache.folder() / "vectors" / blake2b(project_id.encode(), digest_size=12).hexdigest()


class Vectors:
    """Vectors by one embedder, kept in a folder if one is given."""

    def __init__(self, embedder: Embedder, folder: Path | None = None, *, first_wait: float = FIRST_WAIT) -> None:
        """Nothing is read or computed yet; after a failure the next try is `first_wait` seconds later."""
        self.embedder = embedder
        self.cache_trouble = ""
        self._asking = Asking(embedder)
        self._filling = Filling(self._make, self._write, first_wait=first_wait)
        self._pool = Pool()
        self._kept = Kept(folder, embedder.name) if folder is not None else None
        self._lock = Lock()  # of what follows
        self._read = False
        self._laid: WeakSet[Laid] = WeakSet()
        self._new: list[bytes] = []  # hashes of vectors that are in no file yet
        self._making_trouble = ""

    def lay(self, texts: Sequence[str], before: Laid | None = None, *, fill: bool = True) -> Laid:
        """Say which texts there are; what has no vector is made in the background, unless told not to."""
        known: Mapping[str, bytes] = dict(zip(before.texts, before.keys, strict=True)) if before is not None else {}
        keys = [known[text] if text in known else self._key(text) for text in texts]
        laid = Laid(texts, keys)
        with self._lock:
            self._load()
            self._laid.add(laid)
            live = self._live()
            if len(self._pool) > 2 * len(live) + SLACK:
                self._pool.shed(live.keys())
        room = MOST - len(self._pool)
        missing = [(key, text) for key, text in live.items() if key not in self._pool]
        self._filling.want(dict(missing[:room]), start=fill)
        return laid

    def direction(self, parts: Sequence[tuple[str, float]]) -> Array | None:
        """The direction of texts with their weights; None where it cannot be told, and `trouble` may say why."""
        return self._asking.direction(parts)

    def scores(self, direction: Array, laid: Laid) -> Array:
        """How near in meaning each text is to a direction, from -1 to 1; 0 where there is no vector yet."""
        return self._pool.scores(direction, laid)

    def known(self, laid: Laid) -> NDArray[np.bool_]:
        """Which texts have a vector."""
        return self._pool.known(laid)

    def fill(self, progress: Progress | None = None) -> None:
        """Make all vectors that are missing while the caller waits; stops at the first trouble."""
        self._filling.now(progress)

    def stop(self, seconds: float = 5.0) -> None:
        """End the work in the background; what was made is kept."""
        self._filling.stop(seconds)

    @property
    def progress(self) -> tuple[int, int]:
        """How many vectors of how many that are needed are there."""
        with self._lock:
            total = len(self._live())
        return total - len(self._filling), total

    @property
    def trouble(self) -> str:
        """Why vectors cannot be made, as it last was."""
        return self._asking.trouble or self._making_trouble

    def _key(self, text: str) -> bytes:
        return key(text) if self.embedder.reads(text) else b""

    def _live(self) -> dict[bytes, str]:
        """All texts that somebody still has laid, by their hashes."""
        return {key: text for laid in self._laid for key, text in zip(laid.keys, laid.texts, strict=True) if key}

    def _load(self) -> None:
        if self._read or self._kept is None:
            return
        self._read = True
        try:
            for keys, vectors in self._kept.read():
                self._pool.add(keys, vectors)
        except OSError as error:
            self.cache_trouble = error.strerror or type(error).__name__

    def _make(self, some: Mapping[bytes, str]) -> bool:
        """A bite of the filling."""
        try:
            made = self.embedder.embed(list(some.values()))
        except FabulaError as error:
            self._making_trouble = error.sentence
            return False
        self._making_trouble = ""
        self._pool.add(list(some), made)
        with self._lock:
            self._new += some
            enough = len(self._new) >= WRITE_EVERY
        if enough:
            self._write()
        return True

    def _write(self) -> None:
        """Keep what is new; a folder that cannot be written to is left alone from then on."""
        with self._lock:
            new, self._new = [key for key in self._new if key in self._pool], []
            if not new or self._kept is None or self.cache_trouble:
                return
            try:
                if self._kept.many:
                    self._kept.replace(*self._pool.all())
                else:
                    self._kept.write(*self._pool.some(new))
            except OSError as error:
                self.cache_trouble = error.strerror or type(error).__name__
