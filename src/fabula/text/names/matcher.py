"""Finding known names in running text.

One automaton finds every name at once, in each way it may be written (`spellings`); the few hits are then
checked, and of those that stand the longest wins. In scripts with spaces a name must be a whole word, perhaps
with a plural or a possessive at its end; Korean and Japanese have particles behind it (`scripts`); Chinese has a
file of its own (`edges`). A name that is also an ordinary word (Grace, Will) counts only where it is written as a
name; that of a person only where nothing beside it says otherwise (`ordinary`).

An automaton of a hundred thousand names takes a while to build. So names that change by a few share it, beside
a small one for what is new.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from enum import StrEnum
from operator import itemgetter
from typing import TypeVar

from ahocorasick_rs import AhoCorasick, MatchKind
from msgspec import Struct

from fabula.text.bounded_cache import Remembered
from fabula.text.names.ambiguous import may_be_word, word_in_english
from fabula.text.names.chinese_boundaries import Edges
from fabula.text.names.spellings import exact_ways, folded, levelled, ordinary, ways
from fabula.text.names.surnames import surname_of
from fabula.text.scripts import Script, begins_word, ends_word, joined, script_of

_START = itemgetter(1)
_END = itemgetter(2, 1)
_BETWEEN = frozenset(("", " ", "\n", ".", ",", ";", ":", "!", "?", "“", "”", '"', "(", ")", "—"))  # not of a word
_PATTERNS = 200_000  # ways of writing whose meaning is kept
_SHARED = 0.1  # how much of an automaton may be out of date before it is built anew


class Case(StrEnum):
    """Whether the case of letters matters."""

    SMART = "smart"  # as written, or all in capitals; in small letters unless that is an ordinary word
    EXACT = "exact"
    ANY = "any"


class Rules(Struct, frozen=True, kw_only=True):
    """How one owner's names are to be found."""

    case: Case = Case.SMART
    without: tuple[str, ...] = ()  # phrases in which the name means something else
    person: bool = False


class Hit(Struct, frozen=True, gc=False):
    """One mention: whose, in which words, and where."""

    owner: str
    surface: str
    start: int
    end: int


class _Pattern(Struct, gc=False):
    """One string the automaton looks for, and whose name it is."""

    owners: tuple[tuple[str, Rules], ...]
    only: str | None  # the one owner, where nothing but boundaries must be looked at
    first: Script
    last: Script
    common: bool  # something to do or a time in English as well
    person: bool  # whoever it is


_DEFAULT = Rules()
_SHORT = 8_000  # characters; what was found in a longer text is not kept
_KEPT = 1_000_000  # characters of text in a generation of what was found
T = TypeVar("T")


class Names:
    """All names of a project, ready to be found."""

    def __init__(self, names: Mapping[str, Iterable[str]], *, rules: Mapping[str, Rules] | None = None) -> None:
        self._rules = dict(rules or {})
        self._given = {owner: tuple(surfaces) for owner, surfaces in names.items()}
        self._patterns: dict[str, _Pattern] = {}
        self._owners: dict[str, tuple[str, ...]] = {}  # each name, and whose it is
        self._spelled: dict[str, tuple[str, ...]] = {}  # each way of writing one, and the names written so
        self._loose: dict[str, tuple[str, ...]] = {}  # names in small letters, where case does not matter at all
        self._edges = Edges()
        self._seen = Remembered[list[Hit]](_KEPT)
        self._add(list(self._given))
        self._large, self._small = _Automaton(list(self._spelled)), _Automaton([])
        self._any = _Automaton(list(self._loose))

    def __len__(self) -> int:
        return len(self._owners)

    def changed(
        self, names: Mapping[str, Iterable[str] | None], rules: Mapping[str, Rules | None] | None = None
    ) -> Names:
        """These names with those of some owners replaced, added or (None) taken away, and their rules."""
        said = {owner: None if surfaces is None else tuple(surfaces) for owner, surfaces in names.items()}
        said = {owner: surfaces for owner, surfaces in said.items() if self._given.get(owner) != surfaces}
        asked = {owner: rule for owner, rule in (rules or {}).items() if self._rules.get(owner) != rule}
        touched = dict.fromkeys((*said, *asked))
        if not touched:
            return self
        given, told = _with(self._given, said), _with(self._rules, asked)
        if len(touched) + len(self._small) > max(_SHARED * len(self._given), 1):
            return Names(given, rules=told)
        return self._followed(given, told, touched)

    def _followed(self, given: dict[str, tuple[str, ...]], rules: dict[str, Rules], touched: Iterable[str]) -> Names:
        """The same with little changed, sharing what was worked out."""
        new = Names.__new__(Names)
        new._rules, new._given, new._patterns, new._seen = rules, given, {}, Remembered(_KEPT)
        new._owners, new._spelled, new._loose = self._owners.copy(), self._spelled.copy(), self._loose.copy()
        lost: set[str] = set()
        for owner in touched:
            lost |= new._drop(owner, self._given.get(owner, ()))
        new._edges = self._edges if lost.isdisjoint(self._edges.known) else Edges()  # a segmenter cannot unlearn
        there = [owner for owner in touched if owner in given]
        new._add(there)
        fresh = {*self._small.keys, *(way for owner in there for way in new._ways_of(owner))}
        new._large = self._large
        new._small = _Automaton(sorted(way for way in fresh if way in new._spelled and way not in new._large.places))
        new._any = self._any if new._loose.keys() == self._loose.keys() else _Automaton(list(new._loose))
        return new

    def _add(self, owners: Sequence[str]) -> None:
        """Note whose each name is, and how it may be written."""
        fresh = {name.strip() for owner in owners for name in self._given[owner]}
        common = ordinary({name.lower() for name in fresh if name[:1].isupper()})
        for owner in owners:
            rules = self._rules.get(owner, _DEFAULT)
            for name in map(str.strip, self._given[owner]):
                if not name:
                    continue
                _join(self._owners, name, owner)
                for way in ways(name, common) if rules.case is Case.SMART else exact_ways(name):
                    _join(self._spelled, way, name)
                if rules.case is Case.ANY:
                    _join(self._loose, folded(levelled(name)), name)

    def _drop(self, owner: str, surfaces: Iterable[str]) -> set[str]:
        """Somebody is no longer called so; says which names nobody has any more."""
        lost = set()
        for name in map(str.strip, surfaces):
            left = tuple(other for other in self._owners.get(name, ()) if other != owner)
            if left:
                self._owners[name] = left
            elif self._owners.pop(name, None) is not None:
                self._unspell(name)
                lost.add(name)
        return lost

    def _unspell(self, name: str) -> None:
        """Nobody is called so any more."""
        for table, way in [*((self._spelled, way) for way in ways(name, ())), (self._loose, folded(levelled(name)))]:
            left = tuple(other for other in table.get(way, ()) if other != name)
            if left:
                table[way] = left
            else:
                table.pop(way, None)

    def _ways_of(self, owner: str) -> Iterator[str]:
        for name in map(str.strip, self._given[owner]):
            if name:
                yield from ways(name, ())

    def find(self, text: str) -> Sequence[Hit]:
        """Every mention, in order; a name that several own is a mention of each."""
        known = self._seen.young.get(text)
        if known is None:
            known = self._found(text) if len(text) > _SHORT else self._seen.find(text, self._found)
        return known

    def _found(self, text: str) -> list[Hit]:
        found = self._matches(levelled(text))
        hits: list[Hit] = []
        past, patterns, learnt = 0, self._patterns, False
        for key, start, end in found:
            if start < past:
                continue
            pattern = patterns.get(key) or self._pattern(key)
            if pattern.first is Script.HAN:
                if not learnt:
                    self._learn(found)
                    learnt = True
            elif not (text[start - 1 : start] in _BETWEEN and text[end : end + 1] in _BETWEEN) and not (
                ends_word(text, end, pattern.last, plural=not key.islower())
                and begins_word(text, start, pattern.first)
                and not (pattern.person and joined(text, start, end))
            ):
                continue
            if pattern.common and word_in_english(text, start, end):
                continue
            if pattern.only is not None:
                hits.append(Hit(pattern.only, text[start:end], start, end))
                past = end
                continue
            standing = self._standing(text, start, end, pattern)
            if standing:
                hits += standing
                past = end
        return hits

    def _matches(self, text: str) -> list[tuple[str, int, int]]:
        """All places where a name is written: by their starts, and of one start the longest first."""
        keys, spelled = self._large.keys, self._spelled
        found = [(keys[at], start, end) for at, start, end in self._large.find(text)]
        if self._small or self._any or len(spelled) < len(keys) + len(self._small):
            found = [match for match in found if match[0] in spelled]
            found += [(self._small.keys[at], start, end) for at, start, end in self._small.find(text)]
            if self._any:
                found += [(text[start:end], start, end) for _, start, end in self._any.find(folded(text))]
            found = sorted(set(found), key=_END)
        found.reverse()  # they come by their ends
        found.sort(key=_START)
        return found

    def _learn(self, found: list[tuple[str, int, int]]) -> None:
        """Tell the segmenter every Chinese name that occurs here."""
        self._edges.learn(sorted({key for key, _, _ in found if script_of(key[0]) is Script.HAN}))

    def _pattern(self, key: str) -> _Pattern:
        """Whose name this is when it is written so, worked out when it is first met."""
        owners: dict[str, Rules] = {}
        spelled = self._spelled.get(key, ())
        for name in (*spelled, *self._loose.get(folded(key), ())):
            for owner in self._owners[name]:
                rules = self._rules.get(owner, _DEFAULT)
                exact = rules.case is Case.EXACT and key in exact_ways(name)
                if exact or rules.case is Case.ANY or (rules.case is Case.SMART and name in spelled):
                    owners[owner] = rules
        first, last = script_of(key[0]), script_of(key[-1])
        plain = len(owners) == 1 and first is not Script.HAN and not any(r.without for r in owners.values())
        person = bool(owners) and all(rules.person for rules in owners.values())
        strict = all(rules.case is not Case.ANY for rules in owners.values())
        made = _Pattern(
            tuple(sorted(owners.items(), key=itemgetter(0))),
            next(iter(owners)) if plain else None,
            first,
            last,
            person and strict and may_be_word(key),
            person,
        )
        if len(self._patterns) < _PATTERNS:
            self._patterns[key] = made
        return made

    def _standing(self, text: str, start: int, end: int, pattern: _Pattern) -> list[Hit]:
        """The mentions a match amounts to: none where it is a piece of other words, or means something else."""
        hits = []
        for owner, rules in pattern.owners:
            if pattern.first is Script.HAN and not self._edges.stands(
                text, start, end, person=rules.person, kin=self._kin(owner, text[start:end])
            ):
                continue
            if rules.without and _meant_otherwise(text, start, end, rules.without):
                continue
            hits.append(Hit(owner, text[start:end], start, end))
        return hits

    def _kin(self, owner: str, name: str) -> Set[str]:
        """What else a Chinese owner is called, and the surnames in it."""
        others = {one for one in map(str.strip, self._given[owner]) if one and one != name}
        return others | {surname for one in others if (surname := surname_of(one))}


class _Automaton:
    """Strings, and the machine that finds them all at once."""

    __slots__ = ("_machine", "keys", "places")

    def __init__(self, keys: list[str]) -> None:
        self.keys = keys
        self.places = {key: place for place, key in enumerate(keys)}
        self._machine = AhoCorasick(keys, matchkind=MatchKind.Standard) if keys else None

    def __len__(self) -> int:
        return len(self.keys)

    def find(self, text: str) -> list[tuple[int, int, int]]:
        """Which string, from where to where; by their ends."""
        return [] if self._machine is None else self._machine.find_matches_as_indexes(text, overlapping=True)


def _with(table: Mapping[str, T], changes: Mapping[str, T | None]) -> dict[str, T]:
    """A table with some of its rows replaced, added or (None) taken away."""
    fresh = dict(table)
    for key, value in changes.items():
        fresh.pop(key, None)
        if value is not None:
            fresh[key] = value
    return fresh


def _join(table: dict[str, tuple[str, ...]], key: str, more: str) -> None:
    known = table.get(key)
    if known is None:
        table[key] = (more,)
    elif more not in known:
        table[key] = (*known, more)


def _meant_otherwise(text: str, start: int, end: int, phrases: tuple[str, ...]) -> bool:
    """Does the match stand inside one of these phrases?"""
    for phrase in phrases:
        low = folded(levelled(phrase))
        near = max(start - len(low), 0)
        around = folded(levelled(text[near : end + len(low)]))
        at = around.find(low)
        while at >= 0:
            if near + at <= start and end <= near + at + len(low):
                return True
            at = around.find(low, at + 1)
    return False
