"""Finding known names in running text.

One automaton finds every name at once, longest first; the few hits are then checked. In scripts
with spaces a name must be a whole word, perhaps with a plural or a possessive at its end. In
Chinese there are no spaces to lean on: a hit counts when its beginning is the edge of a word,
judged by a segmenter that knows the names, so that 树林远处 does not mention 林远.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property

from ahocorasick_rs import AhoCorasick, MatchKind
from msgspec import Struct
from rjieba import Jieba

NEAR = 24  # characters each side of a hit that the segmenter is shown
_ENDING = re.compile(r"(?:['’]s|s['’]|es|s)?(?!\w)")
_NAME_FREQUENCY = 1000


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
        self._owners = list(owners.values())
        self._wide = [(_unspaced(surface[0]), _unspaced(surface[-1])) for surface in owners]
        self._automaton = AhoCorasick(self._surfaces, matchkind=MatchKind.LeftmostLongest)

    def __len__(self) -> int:
        return len(self._surfaces)

    def find(self, text: str) -> list[Hit]:
        """Every mention, in order; a name that several own is a mention of each."""
        hits: list[Hit] = []
        for pattern, start, end in self._automaton.find_matches_as_indexes(text):
            wide_start, wide_end = self._wide[pattern]
            if wide_start:
                if not self._begins_a_word(text, start, end):
                    continue
            elif start and text[start - 1].isalnum() and not _unspaced(text[start - 1]):
                continue
            if not wide_end and not _ends(text, end):
                continue
            surface = self._surfaces[pattern]
            hits.extend([Hit(owner, surface, start, end) for owner in self._owners[pattern]])
        return hits

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
        for surface in self._surfaces:
            if _unspaced(surface[0]):
                segmenter.add_word(surface, _NAME_FREQUENCY, "nr")
        return segmenter


def _ends(text: str, end: int) -> bool:
    """Does a name that ends here end a word, perhaps with a plural or a possessive?"""
    if end == len(text):
        return True
    following = text[end]
    if not (following.isalnum() or following in "_'’"):
        return True
    return _ENDING.match(text, end) is not None or _unspaced(following)


def _unspaced(character: str) -> bool:
    """Is this a character of a script written without spaces between words?"""
    return "\u2e80" <= character <= "\u9fff" or "\uac00" <= character <= "\ud7af" or character > "\U0001ffff"
