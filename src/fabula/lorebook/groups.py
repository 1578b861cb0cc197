"""Inclusion groups: of several entries that could speak, one does.

Here is what both sets of rules share: what a contest is about, who is in which group, and the
weighted draw. How a contest is settled each set of rules says for itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from fabula.lorebook.model import Number, Reason, Ref
from fabula.lorebook.random_source import Chance
from fabula.lorebook.scan_order import Lore
from fabula.lorebook.timed_effects import Running

WEIGHT = 100
_COMMA = re.compile(r",\s*")


class Candidate(Struct, frozen=True):
    """An entry that passed the gate in this pass, and how."""

    lore: Lore
    reason: Reason
    detail: str = ""


class Dropped(Struct, frozen=True):
    """An entry that lost, and why."""

    lore: Lore
    reason: Reason
    detail: str = ""


class Contest(Struct, frozen=True):
    """All that decides who wins in the groups of one pass."""

    candidates: Sequence[Candidate]
    active: Sequence[Candidate]  # from earlier passes
    running: Running
    score: Callable[[Lore], int]
    scoring: Callable[[Lore], bool]  # may scoring remove it?
    chance: Chance


class Settled(Struct, frozen=True):
    """Who goes on, who lost, and whom of the earlier ones a newcomer replaces if it enters."""

    kept: list[Candidate]
    dropped: list[Dropped]
    replaces: Mapping[Ref, Sequence[Candidate]] = {}


def raw_names(group: str | None) -> tuple[str, ...]:
    """The groups as SillyTavern reads them: white space goes only behind a comma."""
    return tuple(dict.fromkeys(name for name in _COMMA.split(group or "") if name))


def names(group: str | None) -> tuple[str, ...]:
    """The groups as a person reads them."""
    return tuple(dict.fromkeys(name.strip() for name in (group or "").split(",") if name.strip()))


def members(
    candidates: Sequence[Candidate], named: Callable[[str | None], tuple[str, ...]]
) -> dict[str, list[Candidate]]:
    """The candidates of each group, groups in the order of their first member."""
    found: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        for name in named(candidate.lore.entry.group):
            found.setdefault(name, []).append(candidate)
    return found


def weight(lore: Lore) -> Number:
    """How likely it is to be drawn; never less than not at all."""
    given = lore.entry.group_weight
    return WEIGHT if given is None else max(given, 0)


def draw(contestants: Sequence[Candidate], chance: Chance) -> Candidate:
    """One of them, by weight, walking in their order."""
    total = sum(weight(one.lore) for one in contestants)
    mark, walked = chance.random() * total, 0.0
    for one in contestants:
        walked += weight(one.lore)
        if mark <= walked:
            return one
    return contestants[-1]
