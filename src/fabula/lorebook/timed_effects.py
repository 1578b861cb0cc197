"""Timed effects: what keeps an entry active, or at rest, for some messages.

They count messages, not time: an effect runs over [start, end) of the conversation's length. What
runs at the beginning of a scan is read from the value handed in; what the scan starts is in the
value handed back. Editing an entry changes its hash, and its effects are gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

import msgspec
from msgspec import Struct

from fabula.lorebook.model import Effect, LoreEntry, Number, Ref, Timed
from fabula.lorebook.scan_order import Lore


class Running(Struct, frozen=True):
    """Which entries are sticky or cooling now, and the effects as they stand."""

    sticky: frozenset[Ref]
    cooling: frozenset[Ref]
    timed: Timed


def entry_hash(entry: LoreEntry) -> str:
    """Changes whenever anything in the entry that decides something does."""
    return sha256(msgspec.json.encode(entry)).hexdigest()[:16]


def running(lores: Sequence[Lore], timed: Timed, length: int) -> Running:
    """The effects at the beginning of a scan; the end of a sticky one starts a protected rest."""
    if not timed.sticky and not timed.cooldown:
        return Running(frozenset(), frozenset(), Timed())
    by_name = {str(lore.ref): lore for lore in lores}
    sticky, ended = _checked(timed.sticky, by_name, length)
    resting = dict(timed.cooldown)
    for name in ended:
        if rest := by_name[name].entry.cooldown:
            resting[name] = _effect(by_name[name].entry, length, rest, protected=True)
    cooling, _ = _checked(resting, by_name, length)
    return Running(
        frozenset(by_name[name].ref for name in sticky),
        frozenset(by_name[name].ref for name in cooling),
        Timed(sticky, cooling),
    )


def started(timed: Timed, activated: Iterable[Lore], length: int) -> Timed:
    """The effects after a scan: what was activated starts its own, what runs already is not extended."""
    sticky, cooldown = dict(timed.sticky), dict(timed.cooldown)
    for lore in activated:
        name = str(lore.ref)
        if lore.entry.sticky and name not in sticky:
            sticky[name] = _effect(lore.entry, length, lore.entry.sticky)
        if lore.entry.cooldown and name not in cooldown:
            cooldown[name] = _effect(lore.entry, length, lore.entry.cooldown)
    return Timed(sticky, cooldown)


def _checked(
    effects: Mapping[str, Effect], by_name: Mapping[str, Lore], length: int
) -> tuple[dict[str, Effect], list[str]]:
    """The effects that still run, and the names of those that came to their end."""
    still: dict[str, Effect] = {}
    ended: list[str] = []
    for name, effect in effects.items():
        lore = by_name.get(name)
        if lore is None or effect.hash != entry_hash(lore.entry):
            continue
        if length <= effect.start and not effect.protected:
            continue  # the conversation did not advance: the answer is being made again
        if length >= effect.end:
            ended.append(name)
        else:
            still[name] = effect
    return still, ended


def _effect(entry: LoreEntry, length: int, lasts: Number, *, protected: bool = False) -> Effect:
    return Effect(entry_hash(entry), length, length + lasts, protected)
