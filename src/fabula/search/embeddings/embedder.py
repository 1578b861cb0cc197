"""Meaning: the vectors of every project that is searched, by one embedder.

An option beside words. Vectors are made in the background and kept in the cache folder; nobody waits for them,
and where there are none, or the query's own does not come in time, search goes by words alone and says so.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fabula.search.corpus import Made
from fabula.search.embeddings.dense import Embedder, embedder_for
from fabula.search.embeddings.passage_vectors import Vectors, folder_of
from fabula.search.embeddings.vector_pool import Laid
from fabula.search.model import Query

MOST_PROJECTS = 16


class Near(Struct, frozen=True):
    """How near in meaning each passage is, or None, and why that could not be told."""

    scores: NDArray[np.float32] | None
    trouble: str = ""


class _Open(Struct):
    vectors: Vectors
    made: Made | None = None
    laid: Laid | None = None


class Meaning:
    """Vectors by one embedder, a set for each project; the projects asked for last are held."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._lock = threading.Lock()
        self._open: OrderedDict[str, _Open] = OrderedDict()

    def near(self, project_id: str, made: Made, query: Query) -> Near:
        """How near each passage of an index is to what is looked for."""
        vectors, laid = self._laid(project_id, made)
        direction = vectors.direction(query.parts)
        return Near(None if direction is None else vectors.scores(direction, laid), vectors.trouble)

    def fill(self, project_id: str, made: Made, progress: Callable[[int, int], None] | None = None) -> None:
        """Make all vectors that are missing while the caller waits."""
        vectors, _ = self._laid(project_id, made, fill=False)
        vectors.fill(progress)

    def close(self) -> None:
        """End the work in the background; what was made is kept."""
        with self._lock:
            for one in self._open.values():
                one.vectors.stop()
            self._open.clear()

    def _laid(self, project_id: str, made: Made, *, fill: bool = True) -> tuple[Vectors, Laid]:
        with self._lock:
            one = self._open.get(project_id)
            if one is None:
                one = self._open[project_id] = _Open(Vectors(self._embedder, folder_of(project_id)))
            self._open.move_to_end(project_id)
            while len(self._open) > MOST_PROJECTS:
                self._open.popitem(last=False)[1].vectors.stop()
            if one.made is not made or one.laid is None:
                one.laid = one.vectors.lay(made.index.said, one.laid, fill=fill)
                one.made = made
            return one.vectors, one.laid


def meaning_for(settings: Mapping[str, Any], environ: Mapping[str, str] = os.environ) -> Meaning | None:
    """Search by meaning as the settings and the machine have it; None where it is off or nothing for it is there."""
    embedder = embedder_for(settings, environ)
    return None if embedder is None else Meaning(embedder)
