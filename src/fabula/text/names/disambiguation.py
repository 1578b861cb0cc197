"""Mentions: who is meant where a name belongs to several.

A name that one person owns means that person. One that several own (子龙, the Captain) is reported with all
of them, and whoever was last mentioned by a name of their own comes first: in running prose that is mostly
who is meant.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from msgspec import Struct

from fabula.text.names.matcher import Hit


class Mention(Struct, frozen=True, gc=False):
    """One place where somebody is named, and who may be meant, the likeliest first."""

    surface: str
    start: int
    end: int
    owners: tuple[str, ...]

    @property
    def certain(self) -> bool:
        """Does the name belong to one alone?"""
        return len(self.owners) == 1


def mentions(hits: Iterable[Hit]) -> list[Mention]:
    """Hits in order, those of one place together."""
    places = [(start, end, [*group]) for (start, end), group in groupby(hits, key=lambda hit: (hit.start, hit.end))]
    sure = [(start, group[0].owner) for start, _, group in places if len(group) == 1]
    found, behind = [], 0
    last: dict[str, int] = {}  # where each was last named for certain
    ahead: dict[str, int] = {}  # and where each is first named for certain, for those not met yet
    for start, owner in sure:
        ahead.setdefault(owner, start)
    for start, end, group in places:
        while behind < len(sure) and sure[behind][0] < start:
            last[sure[behind][1]] = sure[behind][0]
            behind += 1
        owners = [hit.owner for hit in group]
        if len(owners) > 1:
            never = 1 << 60
            owners.sort(key=lambda owner: start - last[owner] if owner in last else never + ahead.get(owner, never))
        found.append(Mention(group[0].surface, start, end, tuple(owners)))
    return found
