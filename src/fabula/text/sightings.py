"""Sightings: what was found in a stretch of text, by columns.

So the nearest mention of everybody is found by looking up where near begins and ends, not by looking at each.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabula.text.names import Hit

Blocks = Sequence[tuple[int, "Sequence[Hit]"]]  # hits in their order, none inside another, by where each block begins


class Sightings:
    """What was found in the blocks from `begin` to `end`."""

    __slots__ = ("_blocks", "_ends", "_owners", "_starts", "begin", "end")

    def __init__(self, blocks: Blocks, begin: int, end: int) -> None:
        self.begin = begin
        self.end = end
        self._blocks = blocks
        self._owners = [hit.owner for _, hits in blocks for hit in hits]
        self._starts = array("q", [at + hit.start for at, hits in blocks for hit in hits])
        self._ends = array("q", [at + hit.end for at, hits in blocks for hit in hits])

    def only(self, means: Callable[[Hit], bool]) -> Sightings:
        """Those that mean what they seem to."""
        meant = [(at, [hit for hit in hits if means(hit)]) for at, hits in self._blocks]
        return Sightings(meant, self.begin, self.end)

    def note(self, first: int, here: int, last: int, before: dict[str, int], after: dict[str, int]) -> None:
        """Where, from `first` to `last`, each owner's last mention before `here` ends and its next one starts.

        What was noted of text further up stays, unless this is nearer.
        """
        starts, ends, owners = self._starts, self._ends, self._owners
        low, high = bisect_left(starts, first), bisect_right(ends, last)
        middle = max(min(bisect_right(ends, here), high), low)
        before.update(zip(owners[low:middle], ends[low:middle], strict=True))  # of one owner, the last is the nearest
        if middle < high:  # and behind the cursor the first
            behind = dict(zip(owners[middle:high][::-1], starts[middle:high][::-1], strict=True))
            after.update(behind | after)
