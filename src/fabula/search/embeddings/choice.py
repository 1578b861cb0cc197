"""Choose whether a project is also searched by meaning, and with which embedder.

The setting `search.embedding` of the project decides, then that of the person, then the environment. Without a choice
search goes by words alone, because making vectors takes time, and a server would be sent the manuscript. A choice that
cannot be followed causes a warning and nothing else.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from fabula.core.errors import FabulaError
from fabula.core.view import View

if TYPE_CHECKING:
    from fabula.search.embeddings.semantic_search import SemanticSearch

EMBEDDING_SETTING = "search.embedding"  # "off", "auto", "local" or "endpoint"
EMBEDDING_VARIABLE = "FABULA_EMBEDDING"  # the environment variable for the same choice
OFF, AUTO = "off", "auto"


class EmbeddingSetting(Struct, frozen=True):
    """The value of the setting as a project or a person has it, unchecked."""

    value: Any


class EmbeddingStatus(Struct, frozen=True):
    """The semantic search of a view, if any, and the error where the choice cannot be followed."""

    search: SemanticSearch | None = None
    error: FabulaError | None = None


_NO_SEARCH = EmbeddingStatus()


class EmbeddingChoice:
    """Resolves the choice of each view; the semantic search of each choice is made once, when first needed."""

    def __init__(self, override: SemanticSearch | None = None, environ: Mapping[str, str] = os.environ) -> None:
        """`override` is used whatever the settings say."""
        self._override = override
        self._environ, self._machine_choice = environ, environ.get(EMBEDDING_VARIABLE)  # every request asks for it
        self._lock = threading.Lock()
        self._statuses: dict[str, EmbeddingStatus] = {}

    def resolve(self, view: View, default: str = OFF) -> EmbeddingStatus:
        """The semantic search of a view; `default` is the choice where there is none."""
        if self._override is not None:
            return EmbeddingStatus(self._override)
        setting = view.snapshot(EmbeddingSetting)
        choice = (setting.value if setting is not None else None) or self._machine_choice or default
        if choice == OFF:
            return _NO_SEARCH
        key = repr(choice)
        with self._lock:
            if key not in self._statuses:
                self._statuses[key] = self._make_status(choice)
            return self._statuses[key]

    def close(self) -> None:
        """Stop the background work; finished vectors stay in the cache folder."""
        with self._lock:
            for status in self._statuses.values():
                if status.search is not None:
                    status.search.close()
            self._statuses.clear()

    def _make_status(self, choice: object) -> EmbeddingStatus:
        from fabula.search.embeddings.embedder import make_embedder
        from fabula.search.embeddings.semantic_search import SemanticSearch

        try:
            return EmbeddingStatus(SemanticSearch(make_embedder(choice, self._environ)))
        except FabulaError as error:
            return EmbeddingStatus(None, error)
