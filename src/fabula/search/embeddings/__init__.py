"""Embeddings: whether a project is searched by meaning, the models that make vectors, and the vectors themselves."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
_HOMES = {
    "Embedder": "embedder",
    "PassageVectors": "passage_vectors",
    "SemanticSearch": "semantic_search",
    "make_embedder": "embedder",
}


def __getattr__(name: str) -> Any:
    """Import a name that needs a model when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
