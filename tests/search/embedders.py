"""Embedders for tests that are about something else: as quick as counting letters."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from tests.search.servers import letters


class Letters:
    """Texts with the same letters are near; it remembers what it was asked and can fail or wait."""

    def __init__(self, *, name: str = "letters", local: bool = True, dimension: int = 26) -> None:
        self.name = name
        self.is_local = local
        self.dimension = dimension
        self.asked: list[list[str]] = []
        self.failing = False
        self.go = Event()
        self.go.set()

    def can_read(self, text: str) -> bool:
        return text.isascii()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.append(list(texts))
        self.go.wait(10)
        if self.failing:
            raise FabulaError(Code.EMBEDDING_UNAVAILABLE, message("It is tired."))
        built = np.array([(letters(text) * 2)[: self.dimension] for text in texts], np.float32)
        built /= np.linalg.norm(built, axis=1, keepdims=True)
        return built

    @property
    def texts(self) -> list[str]:
        """All it was ever asked about."""
        return [text for some in self.asked for text in some]
