"""Banned words and marks: where they occur.

A word of a language with spaces must stand by itself, in capitals or not; a possessive is still the word.
A Chinese one must begin where a word begins, so that 天 is not found in 今天; a single character must be a
word by itself. What holds no letter is a mark and is found wherever it stands, each run of it once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from rjieba import Jieba

from fabula.text.names.matcher import Names
from fabula.text.scripts import Script, script_of

Span = tuple[int, int]


def occurrences(text: str, words: Sequence[str]) -> list[Span]:
    """Every place where one of the words or marks stands, in order, none inside another."""
    marks = [word for word in words if not any(map(str.isalnum, word))]
    spaced = [word for word in words if word not in marks and script_of(word[0]) == Script.SPACED]
    others = [word for word in words if word not in marks and word not in spaced]
    found = [*_marks(text, marks), *_spaced(text, spaced), *_unspaced(text, others)]
    return apart(found)


def apart(spans: Iterable[Span]) -> list[Span]:
    """Spans in order; of those that overlap the first and longest stays."""
    kept: list[Span] = []
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return kept


def _marks(text: str, marks: Sequence[str]) -> Iterator[Span]:
    if marks:
        pattern = f"(?:{'|'.join(re.escape(mark) for mark in sorted(marks, key=len, reverse=True))})+"
        yield from (found.span() for found in re.finditer(pattern, text))


def _spaced(text: str, words: Sequence[str]) -> Iterator[Span]:
    if words:
        either = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
        # A contraction is another word (can, can't); a possessive is not.
        pattern = rf"(?<![^\W_])(?<![^\W_]['’])(?:{either})(?![^\W_]|['’](?!s\b)[^\W_])"
        yield from (found.span() for found in re.finditer(pattern, text, re.IGNORECASE))


def _unspaced(text: str, words: Sequence[str]) -> Iterator[Span]:
    there = [word for word in words if word in text]
    long = tuple(word for word in there if len(word) > 1)
    if long:
        yield from ((hit.start, hit.end) for hit in finder(long).find(text))
    if len(long) < len(there):
        place = 0
        for word in _segmenter().cut(text, False):
            if word in there:
                yield place, place + len(word)
            place += len(word)


@lru_cache(maxsize=16)
def finder(names: tuple[str, ...]) -> Names:
    """What finds these names, kept: making it takes longer than using it."""
    return Names({name: (name,) for name in names})


@lru_cache(maxsize=1)
def _segmenter() -> Jieba:
    return Jieba()
