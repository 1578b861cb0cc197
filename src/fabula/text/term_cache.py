"""A cache of the terms of one immutable text, by sections of whole paragraphs.

The text near a cursor is cut in the middle of words, so its terms cannot be reused. The words of a section are found
once, with their offsets, and serve every cursor in it; only the words that a cut may have shortened are read anew.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from msgspec import Struct

from fabula.text.terms import find_shared_terms, list_shared_terms

SECTION_PARAGRAPHS = 8
MAX_SECTION_CHARACTERS = 12_000  # a longer section is not read
_NO_TERMS = frozenset[str]()


class _Section(Struct, frozen=True, gc=False):
    """The shared terms of a section's words, and where the words begin."""

    offsets: array[int]
    terms: tuple[str, ...]


class TermCache:
    """The shared terms of any part of one text."""

    __slots__ = ("_sections", "_starts", "_text")

    def __init__(self, text: str, paragraph_starts: Sequence[int]) -> None:
        self._text = text
        self._starts = paragraph_starts
        self._sections: dict[int, _Section | None] = {}  # None: one whose words have no offsets

    def find_between(self, start: int, end: int) -> frozenset[str]:
        """What `find_shared_terms` finds in the text from `start` to `end`."""
        text = self._text
        # Between these two no word is cut.
        first = start if start == 0 or text[start - 1] == " " else text.find(" ", start, end)
        last = end if end < len(text) and text[end] == " " else text.rfind(" ", start, end)
        if first < 0 or last < first:
            return find_shared_terms(text[start:end])
        is_whole = first == start and last == end
        cut = _NO_TERMS if is_whole else find_shared_terms(f"{text[start:first]} {text[last:end]}")
        parts: list[tuple[str, ...]] = []
        for number in range(self._find_section(first), self._find_section(last) + 1):
            section = self._sections[number] if number in self._sections else self._read(number)
            if section is None:
                return find_shared_terms(text[start:end])
            offsets = section.offsets
            parts.append(section.terms[bisect_left(offsets, first) : bisect_left(offsets, last)])
        return cut.union(*parts)

    def _find_section(self, offset: int) -> int:
        return max(bisect_right(self._starts, offset) - 1, 0) // SECTION_PARAGRAPHS

    def _read(self, number: int) -> _Section | None:
        edges = self._starts[number * SECTION_PARAGRAPHS :: SECTION_PARAGRAPHS][:2]
        start, end = 0 if number == 0 else edges[0], edges[1] if len(edges) > 1 else len(self._text)
        found = list_shared_terms(self._text[start:end]) if end - start <= MAX_SECTION_CHARACTERS else None
        section = None
        if found is not None:
            section = _Section(array("L", [start + offset for offset, _ in found]), tuple(term for _, term in found))
        self._sections[number] = section
        return section
