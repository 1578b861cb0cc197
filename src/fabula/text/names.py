"""Finding known names in running text.

One automaton finds every name at once; the few hits are then checked, and of those that stand the
longest wins. In scripts with spaces a name must be a whole word, perhaps with a plural or a
possessive at its end; in Korean it must begin one. In Chinese there are no spaces to lean on: a hit
counts when its beginning is the edge of a word, judged by a segmenter that knows the names, so that
树林远处 does not mention 林远.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import IntEnum
from functools import cached_property
from operator import itemgetter

from ahocorasick_rs import AhoCorasick, MatchKind
from msgspec import Struct
from rjieba import Jieba

NEAR = 24  # characters each side of a hit that the segmenter is shown
_ENDING = re.compile(r"(?:['’]s|s['’]|es|s)?(?![^\W_])")
_NAME_FREQUENCY = 1000
_START = itemgetter(1)
_BETWEEN = frozenset(
    ("", " ", "\n", ".", ",", ";", ":", "!", "?", "“", "”", '"', "(", ")", "—")
)  # never part of a word


class Script(IntEnum):
    """How words are told apart."""

    SPACED = 0
    HAN = 1
    KATAKANA = 2
    HANGUL = 3
    OTHER = 4  # nothing to go by: hiragana and the like


class Hit(Struct, frozen=True, gc=False):
    """One mention: whose, in which words, and where."""

    owner: str
    surface: str
    start: int
    end: int


class Names:
    """All names of a project, ready to be found."""

    def __init__(self, names: Mapping[str, Iterable[str]]) -> None:
        owners: dict[str, list[str]] = {}
        for owner, surfaces in names.items():
            for surface in surfaces:
                if surface.strip():
                    owners.setdefault(surface.strip(), []).append(owner)
        self._surfaces = list(owners)
        self._owners = [list(dict.fromkeys(those)) for those in owners.values()]
        self._scripts = [(script_of(surface[0]), script_of(surface[-1])) for surface in owners]
        self._automaton = AhoCorasick(self._surfaces, matchkind=MatchKind.Standard)

    def __len__(self) -> int:
        return len(self._surfaces)

    def find(self, text: str) -> list[Hit]:
        """Every mention, in order; a name that several own is a mention of each."""
        hits: list[Hit] = []
        found = self._automaton.find_matches_as_indexes(text, overlapping=True)
        # They come by their ends; turned round and sorted by their starts, the longest of a start is first.
        found.reverse()
        found.sort(key=_START)
        past, stands, owners, surfaces = 0, self._stands, self._owners, self._surfaces
        for pattern, start, end in found:
            if start >= past and stands(text, pattern, start, end):
                hits += [Hit(owner, surfaces[pattern], start, end) for owner in owners[pattern]]
                past = end
        return hits

    def _stands(self, text: str, pattern: int, start: int, end: int) -> bool:
        """Is this a name standing by itself, or a piece of other words?"""
        first, last = self._scripts[pattern]
        if first is last is Script.SPACED and text[start - 1 : start] in _BETWEEN and text[end : end + 1] in _BETWEEN:
            return True  # by far the most common case
        if last == Script.SPACED:
            if not _ends(text, end):
                return False
        elif last == Script.KATAKANA and end < len(text) and script_of(text[end]) == Script.KATAKANA:
            return False
        if first == Script.HAN:
            return self._begins_a_word(text, start, end)
        if not start or first == Script.OTHER:
            return True
        before = text[start - 1]
        return script_of(before) != first or not before.isalnum()

    def _begins_a_word(self, text: str, start: int, end: int) -> bool:
        left = max(0, start - NEAR)
        place = left
        for word in self._segmenter.cut(text[left : end + NEAR], False):
            if place >= start:
                return place == start
            place += len(word)
        return place == start

    @cached_property
    def _segmenter(self) -> Jieba:
        segmenter = Jieba()
        for surface, (first, _) in zip(self._surfaces, self._scripts, strict=True):
            if first == Script.HAN:
                segmenter.add_word(surface, _NAME_FREQUENCY, "nr")
        return segmenter


def _ends(text: str, end: int) -> bool:
    """Does a name that ends here end a word, perhaps with a plural or a possessive?"""
    if end == len(text):
        return True
    following = text[end]
    if not (following.isalnum() or following in "'’" or following > "\u02ff"):
        return True
    return _ENDING.match(text, end) is not None or script_of(following) != Script.SPACED


def script_of(character: str) -> Script:
    """The script a character belongs to, as far as finding words in it goes."""
    if character < "\u0300":
        return Script.SPACED
    if "\u4e00" <= character <= "\u9fff" or "\u3400" <= character <= "\u4dbf" or character > "\U0001ffff":
        return Script.HAN
    if "\u30a0" <= character <= "\u30ff" or "\uff66" <= character <= "\uff9f":
        return Script.KATAKANA
    if "\uac00" <= character <= "\ud7af":
        return Script.HANGUL
    if "\u2e80" <= character <= "\u33ff" or character in "々〆":
        return Script.OTHER
    return Script.SPACED
