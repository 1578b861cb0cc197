"""Readings: what is found in the whole paragraphs around a place, kept with the text.

A paragraph seen whole can be remembered, a text cut at the cursor cannot. Lines that may go on in the next one, as
in text with hard line breaks, are read as one block. Where somebody looks a second time, a leaf of paragraphs is
read at once: whoever works at a place moves about in it, and a text that changes with every key is not worth it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fabula.text.names.mention_columns import Sightings

if TYPE_CHECKING:
    from fabula.text.names.matcher import Hit

LEAF = 16  # paragraphs
LONGEST = 12_000  # characters; longer stretches of whole paragraphs are not read
_CLOSED = frozenset('\n。！？…”」』!?"')  # before a line break: what follows is another sentence
_ABBREVIATED = 5  # letters; a longer word with a full stop is the end of a sentence

Find = Callable[[str], "Sequence[Hit]"]


class Readings:
    """The blocks of one immutable text, and what was found in them."""

    __slots__ = ("_edges", "_found", "_starts", "_text")

    def __init__(self, text: str, starts: Sequence[int]) -> None:
        """`starts` are those of the paragraphs."""
        self._text = text
        self._starts = starts
        self._edges: dict[int, tuple[int, ...]] = {}
        self._found = _Found(None)

    def found(self, find: Find, start: int, end: int) -> Sequence[Sightings] | None:
        """What is found in blocks that hold all from `start` to `end`, and maybe more; None where they are too long."""
        kept = self._found
        if kept.find != find:
            kept = self._found = _Found(find)
        leaf = (bisect_right(self._starts, start) - 1) // LEAF
        seen = kept.leaves.get(leaf)
        if seen is not None and seen.begin <= start:
            if end <= seen.end:
                return (seen,)
            more = kept.leaves.get(leaf + 1)
            if more is not None and more.begin == seen.end and end <= more.end:
                return seen, more
        edges = self.blocks(start, end)
        if edges[-1] - edges[0] > LONGEST:
            return None
        hits = kept.hits
        blocks = [(begin, hits[begin] if begin in hits else self._read(kept, find, begin)) for begin in edges[:-1]]
        return (Sightings(blocks, edges[0], edges[-1]),)

    def blocks(self, start: int, end: int) -> tuple[int, ...]:
        """Where the blocks begin that hold all from `start` to `end`; last of all, where the last one ends."""
        leaf = after = (bisect_right(self._starts, start) - 1) // LEAF if start > self._starts[0] else 0
        edges = self._leaf(leaf)
        while leaf > 0 and (not edges or edges[0] > start):
            leaf -= 1
            edges = self._leaf(leaf) + edges
        while (not edges or edges[-1] < end or edges[-1] <= start) and after * LEAF < len(self._starts):
            after += 1
            edges += self._leaf(after)
        first = min(max(bisect_right(edges, start) - 1, 0), len(edges) - 2)
        return edges[first : max(bisect_left(edges, end), first + 1) + 1]

    def _leaf(self, leaf: int) -> tuple[int, ...]:
        """Where blocks begin in a leaf; behind the last leaf, the end of the text."""
        edges = self._edges.get(leaf)
        if edges is None:
            starts = self._starts[leaf * LEAF : (leaf + 1) * LEAF]
            edges = tuple([start for start in starts if start == self._starts[0] or self._closed(start)])
            edges = self._edges[leaf] = edges if starts else (len(self._text),)
        return edges

    def _closed(self, start: int) -> bool:
        """Is a sentence over where this paragraph begins?"""
        text = self._text
        before = text[start - 2 : start - 1]
        return before in _CLOSED or (before == "." and text[start - 2 - _ABBREVIATED : start - 2].isalpha())

    def _read(self, kept: _Found, find: Find, begin: int) -> Sequence[Hit]:
        leaf = (bisect_right(self._starts, begin) - 1) // LEAF
        edges, hits = self._leaf(leaf), kept.hits
        whole = (*edges, self.blocks(edges[-1], edges[-1])[-1])
        if leaf not in kept.looked or whole[-1] - whole[0] > LONGEST:
            kept.looked.add(leaf)
            return self._look(kept, find, begin)
        for edge in edges:
            if edge not in hits:
                self._look(kept, find, edge)
        kept.leaves[leaf] = Sightings([(edge, hits[edge]) for edge in edges], whole[0], whole[-1])
        return hits[begin]

    def _look(self, kept: _Found, find: Find, edge: int) -> Sequence[Hit]:
        kept.hits[edge] = found = find(self._text[edge : self.blocks(edge, edge)[-1]])
        return found


class _Found:
    """What somebody found, by where each block begins, which leaves were looked at and which are read whole."""

    __slots__ = ("find", "hits", "leaves", "looked")

    def __init__(self, find: Find | None) -> None:
        self.find = find
        self.hits: dict[int, Sequence[Hit]] = {}
        self.looked: set[int] = set()
        self.leaves: dict[int, Sightings] = {}
