"""A cache of the names mentioned in one immutable text, by sections of whole paragraphs.

The text near a cursor is cut in the middle of words, so what is found in it cannot be reused. A
section begins and ends where a sentence is over, so its mentions are found once and serve every
cursor in it. Lines that continue in the next one, as in text with hard line breaks, stay together.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabula.text.names.matcher import NameMatch

SECTION_PARAGRAPHS = 16
MAX_SECTION_CHARACTERS = 12_000  # a longer section is not searched
_SENTENCE_ENDS = frozenset('\n。！？…”」』!?"')  # before a line break: the next line is another sentence
_ABBREVIATION_LETTERS = 5  # a longer word with a full stop ends a sentence

FindNames = Callable[[str], "Sequence[NameMatch]"]


class MentionCache:
    """The names mentioned in one text, for one function that finds them."""

    __slots__ = ("_edges", "_find", "_sections", "_starts", "_text")

    def __init__(self, text: str, paragraph_starts: Sequence[int]) -> None:
        self._text = text
        self._starts = paragraph_starts
        self._edges: dict[int, int] = {}
        self._find: FindNames | None = None
        self._sections: dict[int, tuple[list[int], Sequence[NameMatch], int]] = {}

    def find_between(self, find: FindNames, start: int, end: int) -> list[tuple[int, NameMatch]] | None:
        """The mentions that begin from `start` to `end`, each with its offset; None where a section is too long."""
        if self._find != find:
            self._find, self._sections = find, {}
        number = max(bisect_right(self._starts, start) - 1, 0) // SECTION_PARAGRAPHS
        while number and self._edge(number) > start:
            number -= 1
        mentions: list[tuple[int, NameMatch]] = []
        while True:
            section = self._sections.get(number) or self._search(find, number)
            if section is None:
                return None
            offsets, matches, section_end = section
            first, last = bisect_left(offsets, start), bisect_right(offsets, end)
            mentions += zip(offsets[first:last], matches[first:last], strict=True)
            if section_end >= end:
                return mentions
            number += 1

    def _search(self, find: FindNames, number: int) -> tuple[list[int], Sequence[NameMatch], int] | None:
        start, end = self._edge(number), self._edge(number + 1)
        if end - start > MAX_SECTION_CHARACTERS:
            return None
        matches = find(self._text[start:end])
        section = self._sections[number] = ([start + match.start for match in matches], matches, end)
        return section

    def _edge(self, number: int) -> int:
        """Where a section begins: at its first paragraph that begins a sentence; behind the last, the text's end."""
        edge = self._edges.get(number)
        if edge is None:
            paragraph = number * SECTION_PARAGRAPHS
            while 0 < paragraph < len(self._starts) and not self._begins_sentence(self._starts[paragraph]):
                paragraph += 1
            edge = self._starts[paragraph] if paragraph < len(self._starts) else len(self._text)
            self._edges[number] = edge
        return edge

    def _begins_sentence(self, start: int) -> bool:
        before = self._text[start - 2 : start - 1]
        if before in _SENTENCE_ENDS:
            return True
        return before == "." and self._text[start - 2 - _ABBREVIATION_LETTERS : start - 2].isalpha()
