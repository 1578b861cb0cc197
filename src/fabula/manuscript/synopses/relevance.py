"""Relevance of chapters: an inverted index over the keywords of their synopses.

A request looks up its words and adds up their weights. A word that many synopses contain is ignored. A chapter whose
synopsis must be computed first is not in the index: otherwise the first request of a book would wait for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log1p

from fabula.manuscript.synopses.chapters import Chapter
from fabula.text.keywords import find_present_words

_COMMON_FRACTION = 8  # a word in more than one of so many synopses is ignored
_MIN_COMMON = 4  # but not a word in at most so many
_MAX_QUERY_WORDS = 24  # the rarest first
_MAX_WEIGHT = 2.0  # of a word, however often a synopsis contains it


class ChapterRelevance:
    """The keywords of all synopses, with the chapters that contain them."""

    def __init__(self, chapters: Sequence[Chapter]) -> None:
        self._keywords = tuple(chapter.keywords for chapter in chapters)
        numbers_by_word: dict[str, list[int]] = {}
        for number, keywords in enumerate(self._keywords):
            for word in keywords:
                numbers_by_word.setdefault(word, []).append(number)
        limit = max(len(chapters) // _COMMON_FRACTION, _MIN_COMMON)
        self._postings = {
            word: [
                (number, min(self._keywords[number][word], _MAX_WEIGHT) * log1p(len(chapters) / len(numbers)))
                for number in numbers
            ]
            for word, numbers in numbers_by_word.items()
            if len(numbers) <= limit
        }

    def __bool__(self) -> bool:
        return bool(self._postings)

    def is_current(self, chapters: Sequence[Chapter]) -> bool:
        """Whether an index of these chapters would be equal to this one."""
        return len(self._keywords) == len(chapters) and all(
            keywords is chapter.keywords or keywords == chapter.keywords
            for keywords, chapter in zip(self._keywords, chapters, strict=True)
        )

    def score(self, texts: Iterable[str]) -> Mapping[int, float]:
        """The score of each chapter, by its number, for some texts; at least two words must be shared."""
        postings = self._postings
        words = set().union(*(find_present_words(text, postings.keys()) for text in texts))
        once: dict[int, float] = {}
        total: dict[int, float] = {}
        for _, word in sorted((len(postings[word]), word) for word in words)[:_MAX_QUERY_WORDS]:
            for number, weight in postings[word]:
                if number in once:
                    total[number] = total.get(number, once[number]) + weight
                else:
                    once[number] = weight
        return total
