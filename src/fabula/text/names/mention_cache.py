"""A cache of the names mentioned in one immutable text, by sections of whole paragraphs.

The text near a cursor is cut in the middle of words, so what is found in it cannot be reused. A
section begins and ends where a sentence is over, so its mentions are found once and serve every
cursor in it. Lines that continue in the next one, as in text with hard line breaks, stay together.

How often each name was mentioned since the scene began is counted up to the beginning of each section, once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from fabula.text.scenes import find_paragraphs, find_scene_gap

if TYPE_CHECKING:
    from fabula.text.names.matcher import NameMatch

SECTION_PARAGRAPHS = 16
MAX_SECTION_CHARACTERS = 12_000  # a longer section is not searched
MAX_SCENE_CHARACTERS = 20_000  # before a section in which the mentions of a scene are counted
_SENTENCE_ENDS = frozenset('\n。！？…”」』!?"')  # before a line break: the next line is another sentence
_ABBREVIATION_LETTERS = 5  # a longer word with a full stop ends a sentence

FindNames = Callable[[str], "Sequence[NameMatch]"]


class _Section(Struct, frozen=True, gc=False):
    """The mentions in a section with their offsets, where it ends, and where scenes begin in it."""

    offsets: list[int]
    matches: Sequence[NameMatch]
    end: int
    scene_starts: list[int]


class SceneMentions(Struct, frozen=True):
    """How often each owner of a name was mentioned since a scene began, the first mentioned first."""

    start: int
    counts: dict[str, int]


class MentionCache:
    """The names mentioned in one text, for one function that finds them."""

    __slots__ = ("_edges", "_find", "_first_at", "_scene_gap", "_scenes", "_sections", "_starts", "_text")

    def __init__(self, text: str, paragraph_starts: Sequence[int]) -> None:
        self._text = text
        self._starts = paragraph_starts
        self._edges: dict[int, int] = {}
        self._first_at: dict[int, int] = {}  # the first section that is known to begin at an edge
        self._find: FindNames | None = None
        self._scene_gap: int | None = None
        self._sections: dict[int, _Section] = {}
        self._scenes: dict[int, SceneMentions] = {}  # by section: the scene up to its beginning

    def find_between(self, find: FindNames, start: int, end: int) -> list[tuple[int, NameMatch]] | None:
        """The mentions that begin from `start` to `end`, each with its offset; None where a section is too long."""
        number = self._find_section(find, start)
        mentions: list[tuple[int, NameMatch]] = []
        while True:
            section = self._sections.get(number) or self._search(find, number)
            if section is None:
                return None
            offsets, matches = section.offsets, section.matches
            first, last = bisect_left(offsets, start), bisect_right(offsets, end)
            mentions += zip(offsets[first:last], matches[first:last], strict=True)
            if section.end >= end:
                return mentions
            number += 1

    def count_in_scene(self, find: FindNames, cursor: int) -> SceneMentions | None:
        """The mentions since the scene began, or the text, up to the cursor; None where the section is too long."""
        number = self._find_section(find, cursor)
        section = self._sections.get(number) or self._search(find, number)
        if section is None:
            return None
        offsets = section.offsets
        begun = bisect_right(section.scene_starts, cursor)
        if begun:
            start = section.scene_starts[begun - 1]
            first, counts = bisect_left(offsets, start), {}
        else:
            scene = self._scenes.get(number) or self._count_before(find, number)
            start, first, counts = scene.start, 0, scene.counts.copy()
        for match in section.matches[first : bisect_left(offsets, cursor)]:
            counts[match.owner] = counts.get(match.owner, 0) + 1
        return SceneMentions(start, counts)

    def _find_section(self, find: FindNames, offset: int) -> int:
        """The number of the section that holds an offset, for this function."""
        if self._find != find:
            self._find, self._sections, self._scenes = find, {}, {}
        number = max(bisect_right(self._starts, offset) - 1, 0) // SECTION_PARAGRAPHS
        while number > 0 and (edge := self._edge(number)) > offset:
            number = self._first_at[edge] - 1
        return max(number, 0)

    def _count_before(self, find: FindNames, number: int) -> SceneMentions:
        """The scene up to the beginning of a section, as far back as mentions are counted."""
        end = start = self._edge(number)
        matches: list[Sequence[NameMatch]] = []
        for previous in range(number - 1, -1, -1):
            section = self._sections.get(previous) or self._search(find, previous)
            if section is None or end - start > MAX_SCENE_CHARACTERS:
                break
            if section.scene_starts:
                start = section.scene_starts[-1]
                matches.append(section.matches[bisect_left(section.offsets, start) :])
                break
            start = self._edge(previous)
            matches.append(section.matches)
        counts: dict[str, int] = {}
        for part in reversed(matches):
            for match in part:
                counts[match.owner] = counts.get(match.owner, 0) + 1
        scene = self._scenes[number] = SceneMentions(start, counts)
        return scene

    def _search(self, find: FindNames, number: int) -> _Section | None:
        start, end = self._edge(number), self._edge(number + 1)
        if end - start > MAX_SECTION_CHARACTERS:
            return None
        matches = find(self._text[start:end])
        offsets = [start + match.start for match in matches]
        section = self._sections[number] = _Section(offsets, matches, end, self._find_scene_starts(start, end))
        return section

    def _find_scene_starts(self, start: int, end: int) -> list[int]:
        if self._scene_gap is None:
            self._scene_gap = find_scene_gap(self._text)
        # The line before the section may be the mark that begins a scene.
        before = self._starts[max(bisect_left(self._starts, start) - 1, 0)]
        paragraphs = find_paragraphs(self._text, min(before, start), self._scene_gap, end)
        return [begin for begin, _, begins_scene in paragraphs if begins_scene and begin >= start]

    def _edge(self, number: int) -> int:
        """Where a section begins: at its first paragraph that begins a sentence; behind the last, the text's end."""
        edge = self._edges.get(number)
        if edge is None:
            paragraph = number * SECTION_PARAGRAPHS
            while 0 < paragraph < len(self._starts) and not self._begins_sentence(self._starts[paragraph]):
                paragraph += 1
                if not paragraph % SECTION_PARAGRAPHS and paragraph // SECTION_PARAGRAPHS in self._edges:
                    edge = self._edges[paragraph // SECTION_PARAGRAPHS]  # which a section behind this one found before
                    break
            if edge is None:
                edge = self._starts[paragraph] if paragraph < len(self._starts) else len(self._text)
            for passed in range(number, -(-paragraph // SECTION_PARAGRAPHS)):
                self._edges[passed] = edge
            self._edges[number] = edge
            self._first_at[edge] = min(number, self._first_at.get(edge, number))
        return edge

    def _begins_sentence(self, start: int) -> bool:
        before = self._text[start - 2 : start - 1]
        if before in _SENTENCE_ENDS:
            return True
        return before == "." and self._text[start - 2 - _ABBREVIATION_LETTERS : start - 2].isalpha()
