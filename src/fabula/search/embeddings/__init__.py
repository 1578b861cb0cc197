"""Embeddings: whether a project is searched by meaning, the models that make vectors, and the vectors themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.core.lazy_imports import import_lazily
from fabula.search.embeddings.choice import (
    AUTO,
    EMBEDDING_SETTING,
    OFF,
    EmbeddingChoice,
    EmbeddingSetting,
    EmbeddingStatus,
)

if TYPE_CHECKING:
    from fabula.search.embeddings.embedder import Embedder, make_embedder
    from fabula.search.embeddings.passage_vectors import PassageVectors
    from fabula.search.embeddings.semantic_search import SemanticSearch

__all__ = [
    "AUTO",
    "EMBEDDING_SETTING",
    "OFF",
    "Embedder",
    "EmbeddingChoice",
    "EmbeddingSetting",
    "EmbeddingStatus",
    "PassageVectors",
    "SemanticSearch",
    "make_embedder",
]

__getattr__ = import_lazily(
    __name__,
    {
        "Embedder": "fabula.search.embeddings.embedder",
        "PassageVectors": "fabula.search.embeddings.passage_vectors",
        "SemanticSearch": "fabula.search.embeddings.semantic_search",
        "make_embedder": "fabula.search.embeddings.embedder",
    },
)
