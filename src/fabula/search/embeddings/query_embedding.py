"""Embed queries while a request waits.

A short text is one vector. Of a long text, such as the page before a cursor, the last sentences count, each by itself
and cached, so that somebody who writes on pays for the newest sentence alone. The local model answers in milliseconds.
A server gets a short time; if it fails or is late it is not asked again for a while, and a late answer is cached for
the next time.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future
from itertools import chain, pairwise
from threading import Lock, Thread

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import FabulaError
from fabula.core.messages import Sentence, message
from fabula.search.embeddings.embedder import Embedder
from fabula.text.sentences import find_sentence_starts

DEADLINE = 1.0  # seconds that a query waits for a server
RETRY_AFTER = 15.0  # seconds after a failure in which a server is not asked
WHOLE_CHARACTERS = 300  # a longer text is split into its sentences,
NEAR_CHARACTERS = 600  # of which those in so many characters at its end count
CACHED_TEXTS = 512

Array = NDArray[np.float32]


class QueryEmbedder:
    """Embeds queries with one embedder; `error` says why there was no vector."""

    def __init__(self, embedder: Embedder, *, deadline: float = DEADLINE, retry_after: float = RETRY_AFTER) -> None:
        """With an empty cache."""
        self.error: Sentence | None = None
        self._embedder = embedder
        self._deadline = deadline
        self._retry_after = retry_after
        self._lock = Lock()
        self._cache: dict[str, Array] = {}
        self._pending: Future[dict[str, Array] | None] | None = None
        self._not_before = 0.0

    def embed(self, parts: Sequence[tuple[str, float]]) -> Array | None:
        """The weighted sum of the vectors of these texts, of length 1; None where there is none."""
        weights: dict[str, float] = {}
        for text, weight in parts:
            pieces = [piece for piece in split_query_text(text) if self._embedder.can_read(piece)]
            for piece in pieces:
                weights[piece] = weights.get(piece, 0.0) + weight / len(pieces)
        vectors = self._find_vectors(list(weights))
        if not vectors:
            return None
        total = np.zeros_like(next(iter(vectors.values())))
        for piece, weight in weights.items():
            total += np.float32(weight) * vectors[piece]
        length = np.sqrt(np.dot(total, total))
        return np.asarray(total / length, np.float32) if length > 0 else None

    def _find_vectors(self, texts: Sequence[str]) -> dict[str, Array] | None:
        with self._lock:
            cached = {text: self._cache[text] for text in texts if text in self._cache}
        missing = [text for text in texts if text not in cached]
        if not missing:
            return cached
        new = self._embed_texts(missing) if self._embedder.is_local else self._embed_in_time(missing)
        return None if new is None else cached | new

    def _embed_texts(self, texts: Sequence[str]) -> dict[str, Array] | None:
        try:
            # The local model embeds each text by itself: in a batch its last bits would depend on the other texts.
            batches = [[text] for text in texts] if self._embedder.is_local else [texts]
            rows = chain.from_iterable(self._embedder.embed(batch) for batch in batches)
            vectors = dict(zip(texts, rows, strict=True))
        except FabulaError as error:
            self.error = error.message
            self._not_before = time.monotonic() + self._retry_after
            return None
        self.error = None
        with self._lock:
            self._cache.update(vectors)
            for text in list(self._cache)[:-CACHED_TEXTS]:
                del self._cache[text]
        return vectors

    def _embed_in_time(self, texts: Sequence[str]) -> dict[str, Array] | None:
        """The answer of a server before the deadline; one request at a time, and none soon after a failure."""
        if time.monotonic() < self._not_before or (self._pending is not None and not self._pending.done()):
            return None
        self._pending = answer = Future[dict[str, Array] | None]()
        Thread(target=lambda: answer.set_result(self._embed_texts(texts)), name="search-query", daemon=True).start()
        try:
            return answer.result(self._deadline)
        except TimeoutError:
            self.error = message(
                "The embeddings server takes longer than {seconds:g} s. Search goes by words alone.",
                seconds=self._deadline,
            )
            return None


def split_query_text(text: str) -> list[str]:
    """A short text as one piece, a long one as its last sentences."""
    is_long = len(text) > WHOLE_CHARACTERS
    text = text[-NEAR_CHARACTERS:] if is_long else text
    starts = [*find_sentence_starts(text), len(text)] if is_long else [0, len(text)]
    pieces = [piece for start, end in pairwise(starts) if (piece := text[start:end].strip())]
    is_first_cut = len(pieces) > 2 and len(text) == NEAR_CHARACTERS
    return pieces[1:] if is_first_cut else pieces
