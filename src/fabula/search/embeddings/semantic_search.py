"""Semantic search: score passages by meaning, with the vectors of one embedder.

This is an option beside search by words. Vectors are made in the background and stored in the cache folder; no request
waits for them. Where there are none, or the query cannot be embedded in time, search goes by words alone with a
warning.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from weakref import ref

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fabula.core.messages import Sentence
from fabula.search.embeddings.embedder import Embedder
from fabula.search.embeddings.passage_vectors import PassageVectors, vector_folder
from fabula.search.embeddings.query_embedding import join_page_parts
from fabula.search.embeddings.vector_pool import TextRows
from fabula.search.index.index import SearchIndex
from fabula.search.model import Query

MAX_PROJECTS = 16


class SemanticScores(Struct, frozen=True):
    """The score of each passage; None with an error where there are no scores."""

    scores: NDArray[np.float32] | None
    error: Sentence | None = None


class _ProjectVectors(Struct):
    """The vectors of one project, and the index for whose passages their rows were last found."""

    vectors: PassageVectors
    index: ref[SearchIndex] | None = None  # a project that is no longer in use may let go of it
    rows: TextRows | None = None


class SemanticSearch:
    """Vectors by one embedder for each project; those of the projects used last stay in memory."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._lock = threading.Lock()
        self._projects: OrderedDict[str, _ProjectVectors] = OrderedDict()

    @property
    def embedder(self) -> Embedder:
        """What makes the vectors."""
        return self._embedder

    def score_passages(self, project_id: str, index: SearchIndex, query: Query) -> SemanticScores:
        """The score of each passage of an index for a query."""
        vectors, rows = self._find_rows(project_id, index)
        direction = vectors.embed_query(join_page_parts(query.parts) if query.is_page else query.parts)
        return SemanticScores(None if direction is None else vectors.scores(direction, rows), vectors.embedding_error)

    def fill(self, project_id: str, index: SearchIndex, progress: Callable[[int, int], None] | None = None) -> None:
        """Make all missing vectors while the caller waits."""
        vectors, _ = self._find_rows(project_id, index, fill=False)
        vectors.fill(progress)

    def close(self) -> None:
        """Stop the background work; finished vectors stay in the cache folder."""
        with self._lock:
            for project in self._projects.values():
                project.vectors.stop()
            self._projects.clear()

    def _find_rows(self, project_id: str, index: SearchIndex, *, fill: bool = True) -> tuple[PassageVectors, TextRows]:
        with self._lock:
            project = self._projects.get(project_id)
            if project is None:
                project = self._projects[project_id] = _ProjectVectors(
                    PassageVectors(self._embedder, vector_folder(project_id))
                )
            self._projects.move_to_end(project_id)
            while len(self._projects) > MAX_PROJECTS:
                self._projects.popitem(last=False)[1].vectors.stop()
            known = project.index() if project.index is not None else None
            if known is not index or project.rows is None:
                project.rows = project.vectors.set_texts(index.embedding_texts, project.rows, fill=fill)
                project.index = ref(index)
            return project.vectors, project.rows
