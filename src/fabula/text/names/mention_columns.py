"""Sightings: what was found in a stretch of text, by columns.

So the nearest mention of everybody is found by looking up where near begins and ends, not by looking at each.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabula.text.names.matcher import Hit

Blocks = Sequence[tuple[int, "Sequence[Hit]"]]  # hits in their order, none inside another, by where each block begins


class Sightings:
    """What was found in the blocks from `begin` to `end`."""

    __slots__ = ("_ends", "_hits", "_owners", "_starts", "begin", "end")

    def __init__(self, blocks: Blocks, begin: int, end: int) -> None:
        self.begin = begin
        self.end = end
        self._hits = [hit for _, hits in blocks for hit in hits]
        self._owners = [hit.owner for hit in self._hits]
        self._starts = array("q", [at + hit.start for at, hits in blocks for hit in hits])
        self._ends = array("q", [at + hit.end for at, hits in blocks for hit in hits])

    def note(
        self,
        first: int,
        here: int,
        last: int,
        before: dict[str, int],
        after: dict[str, int],
        means: Callable[[Hit], bool] | None = None,
    ) -> None:
        """Where, from `first` to `last`, each owner's last mention before `here` ends and its next one starts.

        What was noted of text further up stays, unless this is nearer. `means` may turn a hit down.
        """
        owners: Sequence[str] = self._owners
        starts: Sequence[int] = self._starts
        ends: Sequence[int] = self._ends
        low, high = bisect_left(starts, first), bisect_right(ends, last)
        if means is not None:
            meant = [at for at in range(low, high) if means(self._hits[at])]
            owners, starts, ends = (
                [owners[at] for at in meant],
                [starts[at] for at in meant],
                [ends[at] for at in meant],
            )
            low, high = 0, len(meant)
        middle = max(min(bisect_right(ends, here), high), low)
        before.update(zip(owners[low:middle], ends[low:middle], strict=True))  # of one owner, the last is the nearest
        if middle < high:  # and behind the cursor the first; they are named in the order in which they are met
            behind = dict(zip(owners[middle:high][::-1], starts[middle:high][::-1], strict=True))
            after.update(dict.fromkeys(owners[middle:high], 0) | behind | after)
