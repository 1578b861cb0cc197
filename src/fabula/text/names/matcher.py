"""Find known names in running text: one automaton, then boundary checks (cdx-3).

One automaton finds every name at once in each of its spellings (`spellings.py`). The few matches are then checked, and
of those that remain the longest wins. In scripts with spaces a name must be a whole word, optionally with a plural or
a possessive; Korean and Japanese have particles after it (`text/word_boundaries.py`); Chinese has a module of its own
(`chinese_boundaries.py`). A name that is also an ordinary word (Grace, Will) counts only where it is written as a
name, and that of a person only where the words around it allow it (`ambiguous.py`).

Building an automaton of a hundred thousand names takes a while. So a matcher with a few changes shares the automaton
of the previous one, beside a small automaton for the new names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from operator import itemgetter
from typing import TypeVar

from msgspec import Struct, field

from fabula.text.automaton import Automaton
from fabula.text.bounded_cache import BoundedTextCache
from fabula.text.names.ambiguous import Reading, is_also_a_word, read_english
from fabula.text.names.chinese_boundaries import read_name_at
from fabula.text.names.spellings import (
    find_common_words,
    fold_case,
    level_punctuation,
    make_exact_spellings,
    make_spellings,
)
from fabula.text.names.surnames import surname_of
from fabula.text.word_boundaries import (
    Script,
    can_begin_word,
    can_end_word,
    find_occurrences,
    is_half_of_double_name,
    script_of,
)

_BY_START = itemgetter(1)
_BY_END = itemgetter(2, 1)
# characters beside a match that settle by themselves that it is a whole word
_SEPARATORS = frozenset(("", " ", "\n", ".", ",", ";", ":", "!", "?", "“", "”", '"', "(", ")", "—"))
_MAX_PATTERNS = 200_000  # spellings whose owners are cached
_MAX_CHANGED_SHARE = 0.1  # of the owners may change before the automaton is built again
_MAX_OVERLAP = 8  # characters; a longer Chinese name does not compete with one that begins inside it
_CACHED_TEXT = 8_000  # characters; matches of a longer text are not cached
_CACHE_CHARACTERS = 200_000  # of text in one generation of cached matches

T = TypeVar("T")


class CaseMatching(StrEnum):
    """How the case of letters matters for a name."""

    SMART = "smart"  # as written, or all in capitals; in lower case unless that is an ordinary word
    EXACT = "exact"
    ANY = "any"


class NameRules(Struct, frozen=True, kw_only=True, gc=False):
    """How the names of one owner are matched; stored with the codex entry."""

    case: CaseMatching = CaseMatching.SMART
    without: tuple[str, ...] = ()  # phrases in which the name means something else
    is_person: bool = field(default=False, name="person")


_DEFAULT_RULES = NameRules()


class NameMatch(Struct, frozen=True, gc=False):
    """One occurrence of a name: its owner, the text as written, and where it stands."""

    owner: str
    surface: str
    start: int
    end: int
    is_certain: bool = True  # False where the words around it rather show an ordinary word that is written alike


class _Pattern(Struct, gc=False):
    """One spelling the automaton looks for, with its owners."""

    owners: tuple[tuple[str, NameRules], ...]
    single_owner: str | None  # set where boundaries are all that must be checked
    first: Script
    last: Script
    is_word: bool  # an ordinary English word as well
    is_person: bool  # for every owner


class NameMatcher:
    """All names of a project, by owner, ready to be found in text."""

    def __init__(self, names: Mapping[str, Iterable[str]], *, rules: Mapping[str, NameRules] | None = None) -> None:
        """`names` are all names of each owner; an owner without rules gets the default ones."""
        self._rules = dict(rules or {})
        self._names = {owner: _strip_names(surfaces) for owner, surfaces in names.items()}
        self._patterns: dict[str, _Pattern] = {}
        self._owners: dict[str, tuple[str, ...]] = {}  # by name
        self._spellings: dict[str, tuple[str, ...]] = {}  # the names that have each spelling
        self._folded: dict[str, tuple[str, ...]] = {}  # names by their lower case form, where case does not matter
        self._cache = BoundedTextCache[list[NameMatch]](_CACHE_CHARACTERS)
        self._add(list(self._names))
        self._large, self._small = _Spellings(list(self._spellings)), _Spellings([])
        self._any_case = _Spellings(list(self._folded))

    def __len__(self) -> int:
        return len(self._owners)

    def with_changes(
        self, names: Mapping[str, Iterable[str] | None], rules: Mapping[str, NameRules | None] | None = None
    ) -> NameMatcher:
        """A matcher in which the names and rules of some owners are replaced, added or (None) removed."""
        new_names = {owner: None if surfaces is None else _strip_names(surfaces) for owner, surfaces in names.items()}
        new_names = {owner: surfaces for owner, surfaces in new_names.items() if self._names.get(owner) != surfaces}
        new_rules = {owner: rule for owner, rule in (rules or {}).items() if self._rules.get(owner) != rule}
        changed = dict.fromkeys((*new_names, *new_rules))
        if not changed:
            return self
        all_names, all_rules = _merge(self._names, new_names), _merge(self._rules, new_rules)
        if len(changed) + len(self._small) > max(_MAX_CHANGED_SHARE * len(self._names), 1):
            return NameMatcher(all_names, rules=all_rules)
        return self._update(all_names, all_rules, changed)

    def _update(
        self, names: dict[str, tuple[str, ...]], rules: dict[str, NameRules], changed: Iterable[str]
    ) -> NameMatcher:
        """A matcher with few changes that shares the large automaton with this one."""
        new = NameMatcher.__new__(NameMatcher)
        new._rules, new._names, new._patterns, new._cache = rules, names, {}, BoundedTextCache(_CACHE_CHARACTERS)
        new._owners, new._spellings, new._folded = self._owners.copy(), self._spellings.copy(), self._folded.copy()
        for owner in changed:
            new._remove(owner, self._names.get(owner, ()))
        present = [owner for owner in changed if owner in names]
        new._add(present)
        fresh = set(self._small.keys)
        fresh.update(spelling for owner in present for name in names[owner] for spelling in make_spellings(name, ()))
        new._large = self._large
        new._small = _Spellings(sorted(key for key in fresh if key in new._spellings and key not in new._large.numbers))
        same_folded = new._folded.keys() == self._folded.keys()
        new._any_case = self._any_case if same_folded else _Spellings(list(new._folded))
        return new

    def _add(self, owners: Sequence[str]) -> None:
        """Record the names of these owners and their spellings."""
        fresh = {name for owner in owners for name in self._names[owner]}
        common = find_common_words({name.lower() for name in fresh if name[0].isupper()})
        for owner in owners:
            rules = self._rules.get(owner, _DEFAULT_RULES)
            for name in self._names[owner]:
                _append(self._owners, name, owner)
                is_smart = rules.case is CaseMatching.SMART
                for spelling in make_spellings(name, common) if is_smart else make_exact_spellings(name):
                    _append(self._spellings, spelling, name)
                if rules.case is CaseMatching.ANY:
                    _append(self._folded, fold_case(level_punctuation(name)), name)

    def _remove(self, owner: str, names: Iterable[str]) -> None:
        """Remove the names of an owner."""
        removed = {name for name in names if name in self._owners and _discard(self._owners, name, owner)}
        for name in removed:
            for spelling in make_spellings(name, ()):
                _discard(self._spellings, spelling, name)
            _discard(self._folded, fold_case(level_punctuation(name)), name)

    def list_spellings(self, owner: str) -> frozenset[str]:
        """All spellings of the names of an owner, in lower case; a text without any of them does not name the owner."""
        names = self._names.get(owner, ())
        return frozenset(fold_case(level_punctuation(one)) for name in names for one in make_spellings(name, ()))

    def find(self, text: str) -> Sequence[NameMatch]:
        """Every match in order; a name with several owners is a match for each of them."""
        matches = self._cache.recent.get(text)
        if matches is None:
            is_short = len(text) <= _CACHED_TEXT
            matches = self._cache.get_or_compute(text, self._find) if is_short else self._find(text)
        return matches

    def _find(self, text: str) -> list[NameMatch]:
        occurrences = self._find_occurrences(level_punctuation(text))
        matches: list[NameMatch] = []
        past, patterns = 0, self._patterns
        for number, (key, start, end) in enumerate(occurrences):
            if start < past:
                continue
            pattern = patterns.get(key) or self._make_pattern(key)
            if pattern.first is not Script.HAN and not (
                (text[start - 1 : start] in _SEPARATORS and text[end : end + 1] in _SEPARATORS)
                or (
                    can_end_word(text, end, pattern.last, plural=not key.islower())
                    and can_begin_word(text, start, pattern.first)
                    and not (pattern.is_person and is_half_of_double_name(text, start, end))
                )
            ):
                continue
            reading = read_english(text, start, end) if pattern.is_word else Reading.NAME
            if reading is Reading.WORD:
                continue
            if pattern.single_owner is not None:
                is_certain = reading is Reading.NAME
                matches.append(NameMatch(pattern.single_owner, text[start:end], start, end, is_certain))
                past = end
                continue
            others = _find_overlapping(occurrences, number) if pattern.first is Script.HAN else ()
            found = self._match_owners(text, start, end, pattern, others, reading)
            if found:
                matches += found
                past = end
        return matches

    def _find_occurrences(self, text: str) -> list[tuple[str, int, int]]:
        """Every occurrence of a spelling, sorted by start, and at one start the longest first."""
        keys, spellings = self._large.keys, self._spellings
        found = [(keys[number], start, end) for number, start, end in self._large.find(text)]
        if self._small or self._any_case or len(spellings) < len(keys) + len(self._small):
            found = [occurrence for occurrence in found if occurrence[0] in spellings]
            found += [(self._small.keys[number], start, end) for number, start, end in self._small.find(text)]
            if self._any_case:
                found += [(text[start:end], start, end) for _, start, end in self._any_case.find(fold_case(text))]
            found = sorted(set(found), key=_BY_END)
        found.reverse()  # an automaton reports occurrences by their ends
        found.sort(key=_BY_START)
        return found

    def _make_pattern(self, key: str) -> _Pattern:
        """The owners of a spelling, found when it first occurs."""
        owners: dict[str, NameRules] = {}
        spelled = self._spellings.get(key, ())
        for name in (*spelled, *self._folded.get(fold_case(key), ())):
            for owner in self._owners[name]:
                rules = self._rules.get(owner, _DEFAULT_RULES)
                is_exact = rules.case is CaseMatching.EXACT and key in make_exact_spellings(name)
                is_smart = rules.case is CaseMatching.SMART and name in spelled
                if is_exact or is_smart or rules.case is CaseMatching.ANY:
                    owners[owner] = rules
        first, last = script_of(key[0]), script_of(key[-1])
        has_exclusions = any(rules.without for rules in owners.values())
        is_simple = len(owners) == 1 and first is not Script.HAN and not has_exclusions
        is_person = bool(owners) and all(rules.is_person for rules in owners.values())
        case_matters = all(rules.case is not CaseMatching.ANY for rules in owners.values())
        pattern = _Pattern(
            tuple(sorted(owners.items(), key=itemgetter(0))),
            next(iter(owners)) if is_simple else None,
            first,
            last,
            is_person and case_matters and is_also_a_word(key),
            is_person,
        )
        if len(self._patterns) < _MAX_PATTERNS:
            self._patterns[key] = pattern
        return pattern

    def _match_owners(
        self,
        text: str,
        start: int,
        end: int,
        pattern: _Pattern,
        overlapping: Sequence[tuple[int, int]],
        reading: Reading,
    ) -> list[NameMatch]:
        """A match for each owner who can be meant here: none where the text is part of other words."""
        matches = []
        for owner, rules in pattern.owners:
            if pattern.first is Script.HAN:
                others = set(self._names[owner]) - {text[start:end]}
                others |= {surname for other in others if (surname := surname_of(other))}
                reading = read_name_at(
                    text, start, end, is_person=rules.is_person, owner_names=others, overlapping=overlapping
                )
                if reading is Reading.WORD:
                    continue
            if rules.without and _is_in_phrase(text, start, end, rules.without):
                continue
            matches.append(NameMatch(owner, text[start:end], start, end, reading is Reading.NAME))
        return matches


class _Spellings:
    """A list of spellings and the automaton that finds them."""

    __slots__ = ("find", "keys", "numbers")

    def __init__(self, keys: list[str]) -> None:
        self.keys = keys
        self.numbers = {key: number for number, key in enumerate(keys)}
        self.find = Automaton(keys).find

    def __len__(self) -> int:
        return len(self.keys)


def _merge(table: Mapping[str, T], changes: Mapping[str, T | None]) -> dict[str, T]:
    """A table in which some rows are replaced, added or (None) removed."""
    merged = dict(table)
    for key, value in changes.items():
        merged.pop(key, None)
        if value is not None:
            merged[key] = value
    return merged


def _append(table: dict[str, tuple[str, ...]], key: str, value: str) -> None:
    values = table.get(key)
    if values is None:
        table[key] = (value,)
    elif value not in values:
        table[key] = (*values, value)


def _discard(table: dict[str, tuple[str, ...]], key: str, value: str) -> bool:
    """Remove a value of a key, and the key with its last value; returns whether that was the last."""
    others = tuple(other for other in table.get(key, ()) if other != value)
    if others:
        table[key] = others
    else:
        table.pop(key, None)
    return not others


def _find_overlapping(occurrences: Sequence[tuple[str, int, int]], number: int) -> list[tuple[int, int]]:
    """Where other names stand that share characters with this occurrence."""
    _, start, end = occurrences[number]
    overlapping = []
    for at in range(number - 1, -1, -1):
        if occurrences[at][1] + _MAX_OVERLAP <= start:
            break
        if occurrences[at][2] > start:
            overlapping.append(occurrences[at][1:])
    for at in range(number + 1, len(occurrences)):
        if occurrences[at][1] >= end:
            break
        overlapping.append(occurrences[at][1:])
    return overlapping


def _strip_names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(stripped for name in names if (stripped := name.strip()))


def _is_in_phrase(text: str, start: int, end: int, phrases: tuple[str, ...]) -> bool:
    """Does the match stand inside one of these phrases?"""
    for phrase in phrases:
        folded = fold_case(level_punctuation(phrase))
        first = max(start - len(folded), 0)
        around = fold_case(level_punctuation(text[first : end + len(folded)]))
        if any(first + at <= start and end <= first + to for at, to in find_occurrences(around, folded)):
            return True
    return False
