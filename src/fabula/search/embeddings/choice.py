"""Chosen: whether search goes by meaning too, as the project, the person and the machine have it.

The setting `search.embedding` says so, of a project before that of a person, and where neither does the
environment. Where nobody said anything search goes by words alone: making vectors takes time, and a server is
sent the manuscript. A choice that cannot be followed costs a warning and nothing else.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.view import View

if TYPE_CHECKING:
    from fabula.search.embeddings.embedder import Meaning

SETTING = "search.embedding"  # "off", "auto", "local" or "endpoint"
VARIABLE = "FABULA_EMBEDDING"  # the same choice, where no setting makes one
OFF, AUTO = "off", "auto"


class Embedding(Struct, frozen=True):
    """What the settings of a project or a person say, whatever that is."""

    chosen: Any


class Way(Struct, frozen=True):
    """How to compare by meaning, or None; and, as `CODE: sentence`, why it cannot be done as chosen."""

    meaning: Meaning | None = None
    warning: str = ""


class Chosen:
    """The way of each view; what makes vectors is made once for each choice, when first asked for."""

    def __init__(self, always: Meaning | None = None, environ: Mapping[str, str] = os.environ) -> None:
        """`always` is taken whatever anybody chose."""
        self._always = always
        self._environ = environ
        self._lock = threading.Lock()
        self._ways: dict[str, Way] = {}

    def way(self, view: View, otherwise: str = OFF) -> Way:
        """How a view is searched; `otherwise` is the choice where nobody made one."""
        if self._always is not None:
            return Way(self._always)
        said = view.room(Embedding)
        choice = (said.chosen if said is not None else None) or self._environ.get(VARIABLE) or otherwise
        if choice == OFF:
            return Way()
        key = repr(choice)
        with self._lock:
            if key not in self._ways:
                self._ways[key] = self._made(choice)
            return self._ways[key]

    def close(self) -> None:
        """End the work in the background; what was made is kept."""
        with self._lock:
            for way in self._ways.values():
                if way.meaning is not None:
                    way.meaning.close()
            self._ways.clear()

    def _made(self, choice: object) -> Way:
        from fabula.search.embeddings.embedder import meaning_for

        try:
            found = meaning_for({SETTING: choice}, self._environ)
        except FabulaError as error:
            return Way(None, f"{error.code.value}: {error.sentence}")
        if found is None:
            return Way(
                None,
                f"{Code.EMBEDDING_UNAVAILABLE.value}: Nothing here makes vectors: install fabula[semantic], or name a "
                "server (docs/semantic.md). Search goes by words alone.",
            )
        return Way(found)
