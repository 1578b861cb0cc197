"""The roll: all entries in the order of a prompt, and the automaton that finds their names.

One entry more among a hundred thousand must not cost as much as all of them. So a roll that follows on from
another takes over its order and its automaton, and looks only at the entries that moved.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Set
from functools import cached_property
from itertools import takewhile

from msgspec.structs import replace

from fabula.codex.entry import Entry, Level
from fabula.core.story import Position
from fabula.text.names.matcher import Names, Rules

_NOTICED = (Level.ALWAYS, Level.WHEN_DETECTED)
_USUAL = Rules()


class Roll:
    """Entries, sorted and by their ids; never changed once made."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = tuple(sorted(entries, key=order))
        self.by_id = {entry.id: entry for entry in self.entries}
        self.size = sum(len(entry.description) for entry in self.entries)  # characters of what is told
        self._base: Names | None = None  # an automaton made earlier, and which entries moved since
        self._moved: frozenset[str] = frozenset()

    def changed(self, ids: Set[str], fresh: Mapping[str, Entry]) -> Roll:
        """The roll with these ids standing for what is fresh of them, and for nobody where nothing is."""
        moved = frozenset(ident for ident in ids if fresh.get(ident) is not self.by_id.get(ident))
        if not moved:
            return self
        new = Roll(())
        entries = list(self.entries)
        new.by_id, new.size = self.by_id.copy(), self.size
        for ident in moved:
            old, now = new.by_id.pop(ident, None), fresh.get(ident)
            if old is not None:
                del entries[bisect_left(entries, order(old), key=order)]
                new.size -= len(old.description)
            if now is not None:
                insort(entries, now, key=order)
                new.by_id[ident] = now
                new.size += len(now.description)
        new.entries = tuple(entries)
        return new._after(self, moved)

    def following(self, before: Roll) -> Roll:
        """Itself, with the automaton of a roll before it, or what of that is still good."""
        old = before.by_id
        moved = {
            ident for ident, entry in self.by_id.items() if old.get(ident) is not entry and old.get(ident) != entry
        }
        return self._after(before, frozenset(moved.union(ident for ident in old if ident not in self.by_id)))

    def _after(self, before: Roll, moved: frozenset[str]) -> Roll:
        made: Names | None = before.__dict__.get("names")
        self._base, self._moved = (made, moved) if made is not None else (before._base, before._moved | moved)
        return self

    @cached_property
    def names(self) -> Names:
        """Every name by which an entry may be noticed."""
        base, self._base = self._base, None
        if base is None:
            return Names(
                {entry.id: _surfaces(entry) for entry in self.entries if entry.level in _NOTICED},
                rules={entry.id: rules for entry in self.entries if (rules := _rules(entry)) is not None},
            )
        there = {ident: self.by_id.get(ident) for ident in self._moved}
        return base.changed(
            {i: None if e is None or e.level not in _NOTICED else _surfaces(e) for i, e in there.items()},
            {i: None if e is None else _rules(e) for i, e in there.items()},
        )

    @cached_property
    def always(self) -> tuple[Entry, ...]:
        """The entries that belong to every prompt; they stand first."""
        return tuple(takewhile(lambda entry: entry.level is Level.ALWAYS, self.entries))

    @cached_property
    def renamed(self) -> frozenset[str]:
        """The entries that get names with a progression."""
        return frozenset(entry.id for entry in self.entries if any(step.aliases for step in entry.progressions))

    @cached_property
    def later(self) -> dict[str, Position]:
        """Names that come into the story at some point, and where; those that are free for others are left out."""
        free = {name for entry in self.entries if entry.since is None for name in (entry.name, *entry.aliases)}
        found: dict[str, Position] = {}
        for entry in self.entries:
            for step in entry.progressions:
                found.update(dict.fromkeys(step.aliases, step.since))
            if entry.since is not None:
                found.update(dict.fromkeys((entry.name, *entry.aliases), entry.since))
        return {name: since for name, since in found.items() if name not in free and safe(name)}


def order(entry: Entry) -> tuple[bool, str, str, str]:
    """Where an entry stands: always first, then by type and name."""
    return entry.level is not Level.ALWAYS, entry.type, entry.name, entry.id


def safe(name: str) -> bool:
    """May a name be looked for in running text? Of single letters only capitals that are no words, like K or Q."""
    return len(name) > 1 or not name.isascii() or ("B" <= name <= "Z" and name not in "IO")


def _surfaces(entry: Entry) -> tuple[str, ...]:
    return tuple(filter(safe, entry.names))


def _rules(entry: Entry) -> Rules | None:
    """How the names of an entry are found, where it is not the usual way."""
    rules = replace(entry.rules, person=True) if entry.type == "character" else entry.rules
    return None if rules == _USUAL else rules
