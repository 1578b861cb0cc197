"""A pool of vectors: all vectors of a project in one matrix, by the hash of their text.

Texts come in the order of an index and change a little with every edit; vectors stand in the order in which they were
made. A long text has several vectors, one a part, and counts by the nearest. `TextRows` remembers which row belongs to
which part, and looks up again only the missing ones. A query is compared with every row at once: up to two hundred
thousand vectors that is faster than an approximate index.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_VECTORS = 200_000  # further texts are found by their words alone
_NO_ROW = -1

Vectors = NDArray[np.float32]


class TextRows:
    """Texts in order, cut into parts, with the hash of each part, empty where it gets no vector, and their rows."""

    __slots__ = ("__weakref__", "_rows", "_version", "first_parts", "keys", "parts")

    def __init__(self, parts: Sequence[str], keys: Sequence[bytes], first_parts: Sequence[int] | None = None) -> None:
        """As many hashes as parts; `first_parts` says where each text begins, None that each part is a text."""
        self.parts = tuple(parts)
        self.keys = tuple(keys)
        self.first_parts = np.array(range(len(self.parts)) if first_parts is None else first_parts, np.intp)
        self._rows = np.full(len(self.parts), _NO_ROW, np.intp)
        self._version = (0, 0)

    def find_highest(self, values: NDArray[Any]) -> NDArray[Any]:
        """The highest value of each text, from those of all parts."""
        has_one_part = len(self.first_parts) == len(self.parts)
        return values if has_one_part else np.asarray(np.maximum.reduceat(values, self.first_parts))


class VectorPool:
    """Vectors of one dimension; a vector of another dimension empties the pool."""

    def __init__(self) -> None:
        """An empty pool."""
        self._lock = Lock()
        self._row_of: dict[bytes, int] = {}
        self._matrix: Vectors = np.zeros((0, 0), np.float32)
        self._generation = 0  # how often rows were moved

    def __len__(self) -> int:
        return len(self._row_of)

    def __contains__(self, key: bytes) -> bool:
        return key in self._row_of

    def add(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Add or replace vectors, up to `MAX_VECTORS`. They are rounded as in a cache file."""
        rounded = vectors.astype(np.float16).astype(np.float32)
        with self._lock:
            if self._matrix.shape[1] != vectors.shape[1]:
                self._row_of, self._matrix = {}, np.zeros((0, vectors.shape[1]), np.float32)
                self._generation += 1
            last = {key: number for number, key in enumerate(keys)}
            new = [key for key in last if key not in self._row_of][: MAX_VECTORS - len(self._row_of)]
            if len(self._row_of) + len(new) > len(self._matrix):
                rows = max(2 * len(self._matrix), len(self._row_of) + len(new), 256)
                self._matrix = np.pad(self._matrix, ((0, rows - len(self._matrix)), (0, 0)))
            self._row_of.update((key, row) for row, key in enumerate(new, start=len(self._row_of)))
            present = [key for key in last if key in self._row_of]
            self._matrix[[self._row_of[key] for key in present]] = rounded[[last[key] for key in present]]

    def keep_only(self, wanted: Collection[bytes]) -> None:
        """Remove all vectors but these."""
        with self._lock:
            kept = [key for key in self._row_of if key in wanted]
            self._matrix = self._matrix[[self._row_of[key] for key in kept]]
            self._row_of = {key: row for row, key in enumerate(kept)}
            self._generation += 1

    def get_vectors(self, keys: Sequence[bytes] | None = None) -> tuple[list[bytes], Vectors]:
        """The hashes in the pool and their vectors: of these hashes, or of all."""
        with self._lock:
            present = [key for key in (self._row_of if keys is None else keys) if key in self._row_of]
            return present, self._matrix[[self._row_of[key] for key in present]]

    def has_vectors(self, texts: TextRows) -> NDArray[np.bool_]:
        """Which of these texts have a vector, of one part at least."""
        return texts.find_highest(self._find_rows(texts)[0] >= 0)

    def scores(self, query: Vectors, texts: TextRows) -> Vectors:
        """The cosine similarity of each text's nearest part with the query, from -1 to 1; 0 without a vector."""
        rows, matrix = self._find_rows(texts)
        scores = np.zeros(len(matrix) + 1, np.float32)  # the last one is for texts without a row
        if matrix.shape[1] == query.shape[0]:
            np.vecdot(matrix, query, out=scores[:-1])  # one thread: a matrix product would wait for busy cores
        return texts.find_highest(scores[rows])

    def _find_rows(self, texts: TextRows) -> tuple[NDArray[np.intp], Vectors]:
        with self._lock:
            version = (self._generation, len(self._row_of))
            if texts._version != version:
                has_moved = texts._version[0] != self._generation
                rows = np.full(len(texts.keys), _NO_ROW, np.intp) if has_moved else texts._rows.copy()
                for number in np.flatnonzero(rows == _NO_ROW).tolist():
                    rows[number] = self._row_of.get(texts.keys[number], _NO_ROW)
                texts._rows, texts._version = rows, version
            return texts._rows, self._matrix[: len(self._row_of)]
