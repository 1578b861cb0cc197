"""The name index: all entries in prompt order, and the matcher that detects their names (cdx-3).

Building the matcher for 100,000 names takes long, so an index made from an earlier one reuses its order and its
matcher and updates only the entries that changed. The matching rules themselves are in `text.names.matcher`.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Set
from functools import cached_property
from itertools import takewhile

from msgspec.structs import replace

from fabula.codex.entry import Entry, Level
from fabula.core.story import Position
from fabula.text.names.matcher import NameMatcher, NameRules

DETECTABLE = (Level.ALWAYS, Level.WHEN_DETECTED)
_DEFAULT_RULES = NameRules()


class NameIndex:
    """Entries in prompt order and by id, with the matcher for their names. Immutable."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = tuple(sorted(entries, key=sort_key))
        self.by_id = {entry.id: entry for entry in self.entries}
        self._earlier_matcher: NameMatcher | None = None  # a matcher built earlier, and which entries changed since
        self._changed_ids: frozenset[str] = frozenset()

    def with_changes(self, ids: Set[str], entries: Mapping[str, Entry]) -> NameIndex:
        """Return an index in which `ids` have the given entries; ids without one are removed."""
        changed = frozenset(ident for ident in ids if entries.get(ident) is not self.by_id.get(ident))
        if not changed:
            return self
        index = NameIndex(())
        ordered = list(self.entries)
        index.by_id = self.by_id.copy()
        for ident in changed:
            old, new = index.by_id.pop(ident, None), entries.get(ident)
            if old is not None:
                del ordered[bisect_left(ordered, sort_key(old), key=sort_key)]
            if new is not None:
                insort(ordered, new, key=sort_key)
                index.by_id[ident] = new
        index.entries = tuple(ordered)
        return index._start_from(self, changed)

    def reuse_matcher(self, previous: NameIndex) -> NameIndex:
        """Take over the matcher of an earlier index where names are unchanged; return this index."""
        old = previous.by_id
        changed = {
            ident for ident, entry in self.by_id.items() if old.get(ident) is not entry and old.get(ident) != entry
        }
        return self._start_from(previous, frozenset(changed.union(ident for ident in old if ident not in self.by_id)))

    def _start_from(self, previous: NameIndex, changed: frozenset[str]) -> NameIndex:
        built: NameMatcher | None = previous.__dict__.get("matcher")  # only where the cached property was read
        if built is not None:
            self._earlier_matcher, self._changed_ids = built, changed
        else:
            self._earlier_matcher, self._changed_ids = previous._earlier_matcher, previous._changed_ids | changed
        return self

    @cached_property
    def matcher(self) -> NameMatcher:
        """The matcher for every name by which an entry may be detected."""
        earlier, self._earlier_matcher = self._earlier_matcher, None
        if earlier is None:
            return NameMatcher(
                {entry.id: _searchable_names(entry) for entry in self.entries if entry.level in DETECTABLE},
                rules={entry.id: rules for entry in self.entries if (rules := _special_rules(entry)) is not None},
            )
        changed = {ident: self.by_id.get(ident) for ident in self._changed_ids}
        return earlier.with_changes(
            {i: None if e is None or e.level not in DETECTABLE else _searchable_names(e) for i, e in changed.items()},
            {i: None if e is None else _special_rules(e) for i, e in changed.items()},
        )

    @cached_property
    def description_length(self) -> int:
        """The characters of all descriptions together."""
        return sum(len(entry.description) for entry in self.entries)

    @cached_property
    def always_entries(self) -> tuple[Entry, ...]:
        """The entries whose level is `always`; they come first."""
        return tuple(takewhile(lambda entry: entry.level is Level.ALWAYS, self.entries))

    @cached_property
    def character_ids(self) -> frozenset[str]:
        """The ids of the characters."""
        return frozenset(entry.id for entry in self.entries if entry.type == "character")

    @cached_property
    def ids_with_later_names(self) -> frozenset[str]:
        """The ids of entries that get further names by a progression."""
        return frozenset(entry.id for entry in self.entries if any(step.aliases for step in entry.progressions))

    @cached_property
    def prompt_order(self) -> dict[str, int]:
        """The place of each entry among all in the order of prompts, by id."""
        return {entry.id: place for place, entry in enumerate(self.entries)}

    @cached_property
    def later_names(self) -> dict[str, Position]:
        """Names that enter the story at some position; names that another entry has from the start are left out."""
        known_from_start = {
            name for entry in self.entries if entry.since is None for name in (entry.name, *entry.aliases)
        }
        starts: dict[str, Position] = {}
        for entry in self.entries:
            for progression in entry.progressions:
                starts.update(dict.fromkeys(progression.aliases, progression.since))
            if entry.since is not None:
                starts.update(dict.fromkeys((entry.name, *entry.aliases), entry.since))
        return {name: since for name, since in starts.items() if name not in known_from_start and is_searchable(name)}


def sort_key(entry: Entry) -> tuple[bool, str, str, str]:
    """The prompt order of entries: `always` first, then by type and name."""
    return entry.level is not Level.ALWAYS, entry.type, entry.name, entry.id


def is_searchable(name: str) -> bool:
    """Is a name safe to search for in prose? A single letter is only if it is a capital that is no word (K, Q)."""
    return len(name) > 1 or not name.isascii() or ("B" <= name <= "Z" and name not in "IO")


def _searchable_names(entry: Entry) -> tuple[str, ...]:
    return tuple(filter(is_searchable, entry.names))


def _special_rules(entry: Entry) -> NameRules | None:
    """The matching rules of an entry, or None where they are the defaults."""
    rules = replace(entry.rules, is_person=True) if entry.type == "character" else entry.rules
    return None if rules == _DEFAULT_RULES else rules
