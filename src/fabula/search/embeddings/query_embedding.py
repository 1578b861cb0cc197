"""Embed queries while a request waits.

Each part of a query is one vector, of its last sentences where it is long, and cached. A page that is being written is
a single part: what its last paragraphs say together. The local model answers in milliseconds. A server gets a short
time; if it fails or is late it is not asked again for a while, and a late answer is cached for
the next time.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future
from itertools import accumulate
from threading import Lock, Thread

import numpy as np
from numpy.typing import NDArray

from fabula.core.errors import FabulaError
from fabula.core.messages import Sentence, message
from fabula.search.embeddings.embedder import Embedder
from fabula.text.sentences import find_sentence_starts

DEADLINE = 1.0  # seconds that a query waits for a server
RETRY_AFTER = 15.0  # seconds after a failure in which a server is not asked
MAX_CHARACTERS = 600  # of a text that count, at its end
MIN_PAGE_WEIGHT = 0.3  # of a part of a page, where the heaviest has 1
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
            text = shorten_to_end(text)
            if text and self._embedder.can_read(text):
                weights[text] = weights.get(text, 0.0) + weight
        vectors = self._find_vectors(list(weights))
        if not vectors:
            return None
        total = np.zeros_like(next(iter(vectors.values())))
        for text, weight in weights.items():
            total += np.float32(weight) * vectors[text]
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
            vectors = dict(zip(texts, self._embedder.embed(texts), strict=True))
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


def join_page_parts(parts: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """The parts of a page's query that weigh most, as one text: a scene says more together than its sentences do.

    Parts come with the nearest paragraph first, and are joined in the order in which they are read.
    """
    least = MIN_PAGE_WEIGHT * max((weight for _, weight in parts), default=0.0)
    heavy = [text for text, weight in parts if weight >= least]
    lengths = accumulate(map(len, heavy))
    texts = [text for text, length in zip(heavy, lengths, strict=True) if length <= MAX_CHARACTERS] or heavy[:1]
    return [("\n".join(reversed(texts)), 1.0)]


def shorten_to_end(text: str) -> str:
    """A short text, or the last sentences of a long one."""
    if len(text) <= MAX_CHARACTERS:
        return text.strip()
    text = text[-MAX_CHARACTERS:]
    starts = find_sentence_starts(text)
    return text[starts[1] if len(starts) > 1 else 0 :].strip()
