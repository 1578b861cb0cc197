"""Resolve mentions of a name that belongs to several owners (cdx-3).

A name with one owner means that owner. A name with several owners (子龙, the Captain) is reported with all of them.
The owner who was last mentioned by an unambiguous name comes first, because in running prose that is mostly who is
meant.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from msgspec import Struct

from fabula.text.names.matcher import NameMatch

_NEVER = 1 << 60


class Mention(Struct, frozen=True, gc=False):
    """One place where a name occurs, with its possible owners, the likeliest first."""

    surface: str
    start: int
    end: int
    owners: tuple[str, ...]

    @property
    def is_certain(self) -> bool:
        """Does the name belong to one owner alone?"""
        return len(self.owners) == 1


def resolve_mentions(matches: Iterable[NameMatch]) -> list[Mention]:
    """The mentions behind matches in order; matches at one place become one mention."""
    places = [
        (start, end, [*group]) for (start, end), group in groupby(matches, key=lambda match: (match.start, match.end))
    ]
    certain = [(start, group[0].owner) for start, _, group in places if len(group) == 1]
    last: dict[str, int] = {}  # where each owner was last named for certain
    first: dict[str, int] = {}  # where each owner is first named for certain
    for start, owner in certain:
        first.setdefault(owner, start)
    mentions, passed = [], 0
    for start, end, group in places:
        while passed < len(certain) and certain[passed][0] < start:
            last[certain[passed][1]] = certain[passed][0]
            passed += 1
        owners = [match.owner for match in group]
        if len(owners) > 1:
            owners.sort(key=lambda owner: start - last[owner] if owner in last else _NEVER + first.get(owner, _NEVER))
        mentions.append(Mention(group[0].surface, start, end, tuple(owners)))
    return mentions
