"""The pool: all vectors at hand in one matrix, by the hash of their text.

Texts come in the order of an index and change a little with every edit; their vectors stand in the order in which
they were made. A `Laid` remembers which row belongs to which text, and looks again only for those it missed. A query
is compared with every row at once: up to two hundred thousand vectors that is faster than anything cleverer.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

MOST = 200_000  # vectors; further texts are found by their words alone
_NOWHERE = -1

Vectors = NDArray[np.float32]


class Laid:
    """Texts in their order and the hash of each, empty where there is to be no vector."""

    __slots__ = ("__weakref__", "_rows", "_version", "keys", "texts")

    def __init__(self, texts: Sequence[str], keys: Sequence[bytes]) -> None:
        """As many hashes as texts."""
        self.texts = tuple(texts)
        self.keys = tuple(keys)
        self._rows = np.full(len(self.texts), _NOWHERE, np.intp)
        self._version = (0, 0)


class Pool:
    """Vectors of one dimension; another dimension begins it anew."""

    def __init__(self) -> None:
        """Empty."""
        self._lock = Lock()
        self._at: dict[bytes, int] = {}
        self._matrix: Vectors = np.zeros((0, 0), np.float32)
        self._age = 0  # how often rows were moved

    def __len__(self) -> int:
        return len(self._at)

    def __contains__(self, key: bytes) -> bool:
        return key in self._at

    def add(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Take vectors in, those there is room for. They are rounded as they are when kept in a file."""
        rounded = vectors.astype(np.float16).astype(np.float32)
        with self._lock:
            if self._matrix.shape[1] != vectors.shape[1]:
                self._begin(vectors.shape[1])
            last = {key: at for at, key in enumerate(keys)}
            new = [key for key in last if key not in self._at][: MOST - len(self._at)]
            self._grow(len(self._at) + len(new))
            self._at.update((key, row) for row, key in enumerate(new, start=len(self._at)))
            here = [key for key in last if key in self._at]
            self._matrix[[self._at[key] for key in here]] = rounded[[last[key] for key in here]]

    def shed(self, wanted: Collection[bytes]) -> None:
        """Let go of all vectors but these."""
        with self._lock:
            kept = [key for key in self._at if key in wanted]
            self._matrix = self._matrix[[self._at[key] for key in kept]]
            self._at = {key: row for row, key in enumerate(kept)}
            self._age += 1

    def all(self) -> tuple[list[bytes], Vectors]:
        """Every hash, and its vector."""
        with self._lock:
            return list(self._at), self._matrix[: len(self._at)].copy()

    def some(self, keys: Sequence[bytes]) -> tuple[list[bytes], Vectors]:
        """Those of these hashes that are here, and their vectors."""
        with self._lock:
            here = [key for key in keys if key in self._at]
            return here, self._matrix[[self._at[key] for key in here]]

    def known(self, laid: Laid) -> NDArray[np.bool_]:
        """For which texts there is a vector."""
        return self._rows(laid)[0] >= 0

    def scores(self, query: Vectors, laid: Laid) -> Vectors:
        """How near each text is to the query, from -1 to 1; 0 for those without a vector."""
        rows, matrix = self._rows(laid)
        scores = np.zeros(len(matrix) + 1, np.float32)  # the last one is for rows that are nowhere
        if matrix.shape[1] == query.shape[0]:
            np.vecdot(matrix, query, out=scores[:-1])  # one thread: a matrix product would wait for busy cores
        return scores[rows]

    def _rows(self, laid: Laid) -> tuple[NDArray[np.intp], Vectors]:
        with self._lock:
            version = (self._age, len(self._at))
            if laid._version != version:
                moved = laid._version[0] != self._age
                rows = np.full(len(laid.keys), _NOWHERE, np.intp) if moved else laid._rows.copy()
                for at in np.flatnonzero(rows == _NOWHERE).tolist():
                    rows[at] = self._at.get(laid.keys[at], _NOWHERE)
                laid._rows, laid._version = rows, version
            return laid._rows, self._matrix[: len(self._at)]

    def _begin(self, dimension: int) -> None:
        self._at = {}
        self._matrix = np.zeros((0, dimension), np.float32)
        self._age += 1

    def _grow(self, rows: int) -> None:
        if rows > len(self._matrix):
            larger = np.zeros((max(2 * len(self._matrix), rows, 256), self._matrix.shape[1]), np.float32)
            larger[: len(self._matrix)] = self._matrix
            self._matrix = larger
