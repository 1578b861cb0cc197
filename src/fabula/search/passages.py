"""Passages and a lexical index over them.

A passage is a few paragraphs; it is known from where it ends. Words are matched as they stand,
Chinese by pairs of characters, and ranked by BM25.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import log

from msgspec import Struct

from fabula.text.paragraphs import Paragraphs
from fabula.text.sentences import sentence_starts
from fabula.text.terms import terms

SIZE = 700  # characters a passage aims at
K1, B = 1.2, 0.5
WORDS = 32  # of a query are looked up, the rarest first
COMMON = 16  # a word that more than one in so many passages hold says little
_EVERYBODY: Mapping[str, frozenset[str] | None] = {}


class Passage(Struct, frozen=True):
    """A stretch of a document."""

    document: str
    title: str
    number: int
    start: int
    end: int
    text: str
    known_to: frozenset[str] | None = None

    @property
    def source(self) -> str:
        """Its name among fragments."""
        return f"search:{self.document}#{self.number}"


def cut(document: str, title: str, text: str, known_to: frozenset[str] | None = None) -> list[Passage]:
    """A document in passages, along its paragraphs."""
    starts = [*_starts(text), len(text)]
    passages: list[Passage] = []
    first = starts[0]
    for end in starts[1:]:
        if end - first >= SIZE or end == len(text):
            body = text[first:end].strip()
            if body:
                passages.append(Passage(document, title, len(passages), first, end, body, known_to))
            first = end
    return passages


def _starts(text: str) -> Iterator[int]:
    """Paragraphs, and the sentences of those that are too long for one passage."""
    paragraphs = Paragraphs(text).starts
    for start, end in pairwise([*paragraphs, len(text)]):
        if end - start <= 2 * SIZE:
            yield start
        else:
            yield from (start + at for at in sentence_starts(text[start:end]))


class Passages:
    """A snapshot of all passages, with its index."""

    def __init__(
        self, documents: Iterable[tuple[str, str, str]], known_to: Mapping[str, frozenset[str] | None] = _EVERYBODY
    ) -> None:
        """From each document's id, title and text; `known_to` says who may know what a document tells."""
        self.all = tuple(
            passage for name, title, text in documents for passage in cut(name, title, text, known_to.get(name))
        )
        self.by_source = {passage.source: at for at, passage in enumerate(self.all)}
        self._postings: dict[str, list[tuple[int, float]]] = {}
        counted = [Counter(terms(passage.text)) for passage in self.all]
        lengths = [sum(words.values()) for words in counted]
        mean = sum(lengths) / max(len(lengths), 1) or 1.0
        for at, words in enumerate(counted):
            norm = K1 * (1 - B + B * lengths[at] / mean)
            for word, count in words.items():
                self._postings.setdefault(word, []).append((at, count * (K1 + 1) / (count + norm)))

    def scores(self, query: Sequence[str]) -> dict[int, float]:
        """BM25 of every passage that shares one of the query's rarest words.

        Only so many words are looked up, and none that a good part of all passages holds: the work is bounded.
        """
        size = len(self.all)
        found = [(len(postings), word) for word in set(query) if (postings := self._postings.get(word))]
        common = max(size // COMMON, 8)
        total: dict[int, float] = {}
        for held, word in sorted(found)[:WORDS]:
            if held > common:
                break
            weight = log(1 + (size - held + 0.5) / (held + 0.5))
            for at, share in self._postings[word]:
                total[at] = total.get(at, 0.0) + weight * share
        return total
