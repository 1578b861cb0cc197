"""Asking: the vector of what is looked for, made while somebody waits.

A short text is one direction. Of a long one, such as the page before a cursor, the last sentences count, each by
itself and remembered, so that somebody who writes on pays for the newest sentence alone. The model at hand answers
in milliseconds. A server gets a short time; if it fails or is late it is left alone for a while, and what it says
afterwards is remembered for the next time.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future
from itertools import pairwise
from threading import Lock, Thread

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import FabulaError
from fabula.search.embeddings.dense import Embedder
from fabula.text.sentences import sentence_starts

DEADLINE = 1.0  # seconds that a query waits for a server
ALONE = 15.0  # seconds for which a server that failed is left alone
WHOLE = 300  # characters: a longer text is taken by its sentences,
NEAR = 600  # as many as stand in so many characters at its end
REMEMBERED = 512  # texts

Array = NDArray[np.float32]


class Asking:
    """Directions of queries by one embedder; `trouble` says why there was none."""

    def __init__(self, embedder: Embedder, *, deadline: float = DEADLINE, alone: float = ALONE) -> None:
        """Remembers nothing yet."""
        self.trouble = ""
        self._embedder = embedder
        self._deadline = deadline
        self._alone = alone
        self._lock = Lock()
        self._known: dict[str, Array] = {}
        self._asked: Future[dict[str, Array] | None] | None = None
        self._not_before = 0.0

    def direction(self, parts: Sequence[tuple[str, float]]) -> Array | None:
        """The direction of texts with their weights, of length 1; None where it cannot be told."""
        weights: dict[str, float] = {}
        for text, weight in parts:
            pieces = [piece for piece in pieces_of(text) if self._embedder.reads(piece)]
            for piece in pieces:
                weights[piece] = weights.get(piece, 0.0) + weight / len(pieces)
        found = self._vectors(list(weights))
        if not found:
            return None
        total = np.zeros_like(next(iter(found.values())))
        for piece, weight in weights.items():
            total += np.float32(weight) * found[piece]
        length = np.sqrt(np.dot(total, total))
        return np.asarray(total / length, np.float32) if length > 0 else None

    def _vectors(self, texts: Sequence[str]) -> dict[str, Array] | None:
        with self._lock:
            found = {text: self._known[text] for text in texts if text in self._known}
        missing = [text for text in texts if text not in found]
        if not missing:
            return found
        made = self._make(missing) if self._embedder.local else self._in_time(missing)
        return None if made is None else found | made

    def _make(self, texts: Sequence[str]) -> dict[str, Array] | None:
        try:
            made = dict(zip(texts, self._embed(texts), strict=True))
        except FabulaError as error:
            self.trouble = error.sentence
            self._not_before = time.monotonic() + self._alone
            return None
        self.trouble = ""
        with self._lock:
            self._known.update(made)
            for text in list(self._known)[:-REMEMBERED]:
                del self._known[text]
        return made

    def _embed(self, texts: Sequence[str]) -> Array:
        """Here each text by itself: together, the last bits of one would depend on the others, and so on the past."""
        if self._embedder.local:
            return np.concatenate([self._embedder.embed([text]) for text in texts])
        return self._embedder.embed(texts)

    def _in_time(self, texts: Sequence[str]) -> dict[str, Array] | None:
        """What a server says before the deadline; only one question at a time, and none soon after a failure."""
        if time.monotonic() < self._not_before or (self._asked is not None and not self._asked.done()):
            return None
        self._asked = answer = Future[dict[str, Array] | None]()
        Thread(target=lambda: answer.set_result(self._make(texts)), name="search-query", daemon=True).start()
        try:
            return answer.result(self._deadline)
        except TimeoutError:
            self.trouble = f"The embeddings server takes longer than {self._deadline:g} s. Search goes by words alone."
            return None


def pieces_of(text: str) -> list[str]:
    """A text as one piece, or a long one as its last sentences."""
    text = text[-NEAR:] if len(text) > WHOLE else text
    starts = [*sentence_starts(text), len(text)] if len(text) > WHOLE else [0, len(text)]
    pieces = [piece for start, end in pairwise(starts) if (piece := text[start:end].strip())]
    return pieces[1:] if len(pieces) > 2 and len(text) == NEAR else pieces  # the first is cut off in its middle
