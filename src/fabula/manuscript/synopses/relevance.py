"""Relevance: which chapters bear on what is being written, by the words and names of their synopses.

Every synopsis has its words once, with their weights; a request looks up its own and adds. A word that a good
part of all synopses holds says nothing. Chapters whose synopsis would have to be worked out first are not
looked at: with a whole book of them the first request would have to wait for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log1p

from fabula.manuscript.synopses.chapters import Chapter
from fabula.text.keywords import occurring

_COMMON = 8  # a word that more than one in so many synopses hold says nothing
_FEW = 4  # but so many may always hold it
_WORDS = 24  # are looked up, the rarest first
_HEAVY = 2.0  # a word weighs so much at the most, however often a synopsis says it


class Relevance:
    """The words of all synopses, and where they stand."""

    def __init__(self, chapters: Sequence[Chapter]) -> None:
        self._held = tuple(chapter.keys for chapter in chapters)
        found: dict[str, list[int]] = {}
        for place, keys in enumerate(self._held):
            for word in keys:
                found.setdefault(word, []).append(place)
        most = max(len(chapters) // _COMMON, _FEW)
        self._postings = {
            word: [(at, min(self._held[at][word], _HEAVY) * log1p(len(chapters) / len(places))) for at in places]
            for word, places in found.items()
            if len(places) <= most
        }

    def __bool__(self) -> bool:
        return bool(self._postings)

    def still(self, chapters: Sequence[Chapter]) -> bool:
        """Is this what would be made of these chapters?"""
        return len(self._held) == len(chapters) and all(
            keys is chapter.keys or keys == chapter.keys for keys, chapter in zip(self._held, chapters, strict=True)
        )

    def scores(self, texts: Iterable[str]) -> Mapping[int, float]:
        """How much each chapter, by its place, has to do with these texts; at least two words must be shared."""
        postings = self._postings
        words = set().union(*(occurring(text, postings.keys()) for text in texts))
        once: dict[int, float] = {}
        total: dict[int, float] = {}
        for _, word in sorted((len(postings[word]), word) for word in words)[:_WORDS]:
            for place, weight in postings[word]:
                if place in once:
                    total[place] = total.get(place, once[place]) + weight
                else:
                    once[place] = weight
        return total
