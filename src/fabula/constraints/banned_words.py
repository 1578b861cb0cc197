"""Finds banned words and punctuation marks in a text (con-4).

A word in a language with spaces is matched as a whole word in any case; its possessive counts too. A Chinese word
is matched only where a word begins, and a single character only as a word of its own, so that 天 is not found in
今天. A term without letters is a mark and is matched anywhere, each run of it once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from fabula.constraints.model import Span
from fabula.text.names.matcher import NameMatcher
from fabula.text.segmenter import load_segmenter
from fabula.text.word_boundaries import Script, script_of


def find_banned_words(text: str, words: Sequence[str]) -> list[Span]:
    """Find every span of one of the words or marks, in order and without overlaps."""
    marks: list[str] = []
    spaced: list[str] = []
    unspaced: list[str] = []
    for word in words:
        if not any(map(str.isalnum, word)):
            marks.append(word)
        else:
            (spaced if script_of(word[0]) == Script.SPACED else unspaced).append(word)
    return drop_overlaps([*_find_marks(text, marks), *_find_spaced(text, spaced), *_find_unspaced(text, unspaced)])


def drop_overlaps(spans: Iterable[Span]) -> list[Span]:
    """Sort spans; of overlapping ones keep the first and longest."""
    result: list[Span] = []
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not result or start >= result[-1][1]:
            result.append((start, end))
    return result


def _find_marks(text: str, marks: Sequence[str]) -> Iterator[Span]:
    if marks:
        pattern = f"(?:{'|'.join(re.escape(mark) for mark in sorted(marks, key=len, reverse=True))})+"
        yield from (match.span() for match in re.finditer(pattern, text))


def _find_spaced(text: str, words: Sequence[str]) -> Iterator[Span]:
    if words:
        alternatives = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
        # A contraction is another word (can, can't); a possessive is not.
        letter = r"[^\W_\u3400-\u9fff]"  # a Chinese character beside it is another word
        pattern = rf"(?<!{letter})(?<!{letter}['’])(?:{alternatives})(?!{letter}|['’](?!s\b){letter})"
        yield from (match.span() for match in re.finditer(pattern, text, re.IGNORECASE))


def _find_unspaced(text: str, words: Sequence[str]) -> Iterator[Span]:
    present = {word for word in words if word in text}
    long = tuple(word for word in sorted(present) if len(word) > 1)
    if long:
        yield from ((hit.start, hit.end) for hit in make_matcher(long).find(text))
    if len(long) < len(present):
        start = 0
        for word in load_segmenter().cut(text, False):
            if word in present:
                yield start, start + len(word)
            start += len(word)


@lru_cache(maxsize=16)
def make_matcher(names: tuple[str, ...]) -> NameMatcher:
    """Make a matcher for these names; it is cached, because building it takes longer than using it."""
    return NameMatcher({name: (name,) for name in names})
