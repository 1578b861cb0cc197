"""Timed effects: entries that stay active (sticky) or stay out (cooldown) for a number of messages (inj-6).

An effect runs over [start, end) of the conversation's message count. A scan reads the running effects
from a value and returns a new value with the effects it starts. An edit changes the hash of an entry,
which ends its effects.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

import msgspec
from msgspec import Struct

from fabula.lorebook.model import EntryRef, LoreEntry, Number, TimedEffect, TimedEffects
from fabula.lorebook.scan_order import ScanEntry


class RunningEffects(Struct, frozen=True):
    """The entries that are sticky or in cooldown now, and their effects."""

    sticky: frozenset[EntryRef]
    cooling: frozenset[EntryRef]
    effects: TimedEffects


def hash_entry(entry: LoreEntry) -> str:
    """Return a hash over all fields of the entry that decide something."""
    return sha256(msgspec.json.encode(entry)).hexdigest()[:16]


def find_running_effects(entries: Sequence[ScanEntry], effects: TimedEffects, message_count: int) -> RunningEffects:
    """Return the effects that run when a scan begins; a sticky effect that ends starts a protected cooldown."""
    if not effects.sticky and not effects.cooldown:
        return RunningEffects(frozenset(), frozenset(), TimedEffects())
    by_name = {str(entry.ref): entry for entry in entries}
    sticky, ended = _split_by_end(effects.sticky, by_name, message_count)
    cooldown = dict(effects.cooldown)
    for name in ended:
        if duration := by_name[name].fields.cooldown:
            cooldown[name] = _make_effect(by_name[name].fields, message_count, duration, protected=True)
    cooling, _ = _split_by_end(cooldown, by_name, message_count)
    return RunningEffects(
        frozenset(by_name[name].ref for name in sticky),
        frozenset(by_name[name].ref for name in cooling),
        TimedEffects(sticky, cooling),
    )


def start_effects(effects: TimedEffects, activated: Iterable[ScanEntry], message_count: int) -> TimedEffects:
    """Return the effects after a scan: activated entries start theirs; a running effect is not extended."""
    sticky, cooldown = dict(effects.sticky), dict(effects.cooldown)
    for entry in activated:
        name, fields = str(entry.ref), entry.fields
        if fields.sticky and name not in sticky:
            sticky[name] = _make_effect(fields, message_count, fields.sticky)
        if fields.cooldown and name not in cooldown:
            cooldown[name] = _make_effect(fields, message_count, fields.cooldown)
    return TimedEffects(sticky, cooldown)


def _split_by_end(
    effects: Mapping[str, TimedEffect], by_name: Mapping[str, ScanEntry], message_count: int
) -> tuple[dict[str, TimedEffect], list[str]]:
    """Return the effects that still run and the names of those that have ended; drop invalid ones."""
    running: dict[str, TimedEffect] = {}
    ended: list[str] = []
    for name, effect in effects.items():
        entry = by_name.get(name)
        if entry is None or effect.hash != hash_entry(entry.fields):
            continue
        if message_count <= effect.start and not effect.protected:
            continue  # the conversation did not advance: the answer is being regenerated
        if message_count >= effect.end:
            ended.append(name)
        else:
            running[name] = effect
    return running, ended


def _make_effect(entry: LoreEntry, message_count: int, duration: Number, *, protected: bool = False) -> TimedEffect:
    return TimedEffect(hash_entry(entry), message_count, message_count + duration, protected)
