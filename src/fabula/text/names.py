"""Finding known names in running text.

One automaton finds every name at once, in each way it may be written; the few hits are then checked, and
of those that stand the longest wins. In scripts with spaces a name must be a whole word, perhaps with a
plural or a possessive at its end; in Korean it must begin one; Chinese has a file of its own (`edges.py`).
A name that is also an ordinary word (Grace, Will) counts only where it is written as a name.

An automaton of a hundred thousand names takes a while to build. So a list of names that follows on from
another shares its automaton and adds a small one for what is new.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from enum import StrEnum
from operator import itemgetter

from ahocorasick_rs import AhoCorasick, MatchKind
from msgspec import Struct

from fabula.text.edges import Edges
from fabula.text.scripts import Script, begins_word, ends_word, script_of
from fabula.text.tokens import encoding

_START = itemgetter(1)
_END = itemgetter(2, 1)
_BETWEEN = frozenset(("", " ", "\n", ".", ",", ";", ":", "!", "?", "“", "”", '"', "(", ")", "—"))  # not of a word
_MARKS = "“”‘’\"'《》〈〉「」『』（）()[]【】、，。,.;；:：!！?？"
_PATTERNS = 200_000  # ways of writing whose meaning is kept
_COMMON = 14  # letters; hardly any longer word is a single token
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


_DEFAULT = Rules()


class Names:
    """All names of a project, ready to be found."""

    def __init__(
        self,
        names: Mapping[str, Iterable[str]],
        *,
        rules: Mapping[str, Rules] | None = None,
        before: Names | None = None,
    ) -> None:
        self._rules = rules or {}
        self._given = {owner: tuple(surfaces) for owner, surfaces in names.items()}
        self._patterns: dict[str, _Pattern] = {}
        self._places: dict[str, int] = {}
        if before is None or not self._follow(before):
            self._owners: dict[str, tuple[str, ...]] = {}  # each name, and whose it is
            self._spelled: dict[str, tuple[str, ...]] = {}  # each way of writing one, and the names written so
            self._loose: dict[str, tuple[str, ...]] = {}  # names in small letters, where case does not matter at all
            self._edges = Edges()
            self._add(list(self._given))
            self._large, self._small = _Automaton(list(self._spelled)), _Automaton([])
        self._any = _Automaton(list(self._loose))

    def __len__(self) -> int:
        return len(self._owners)

    def _follow(self, before: Names) -> bool:
        """Take over what the names before had worked out, if little changed."""
        old, new = before._given, self._given
        gone = [owner for owner in old if owner not in new]
        changed = [owner for owner, given in new.items() if old.get(owner) != given]
        if self._rules != before._rules:
            asked, was = self._rules, before._rules
            changed += [owner for owner in new if owner in old and asked.get(owner) != was.get(owner)]
        if len(gone) + len(changed) > max(_SHARED * len(old), 1):
            return False
        self._owners, self._spelled, self._loose = before._owners.copy(), before._spelled.copy(), before._loose.copy()
        lost = [owner for owner in (*gone, *changed) if owner in old]
        for owner in lost:
            self._drop(owner, old[owner])
        self._edges = Edges() if lost else before._edges  # a segmenter cannot unlearn
        self._add(changed)
        fresh = {*before._small.keys, *(way for owner in changed for way in self._ways_of(owner))}
        self._large = before._large
        self._small = _Automaton(sorted(way for way in fresh if way in self._spelled and way not in self._large.places))
        return True

    def _add(self, owners: Sequence[str]) -> None:
        """Note whose each name is, and how it may be written."""
        fresh = {name.strip() for owner in owners for name in self._given[owner]}
        common = _ordinary({name.lower() for name in fresh if name[:1].isupper()})
        for owner in owners:
            rules = self._rules.get(owner, _DEFAULT)
            for name in map(str.strip, self._given[owner]):
                if not name:
                    continue
                _join(self._owners, name, owner)
                for way in _ways(name, common) if rules.case is Case.SMART else (name,):
                    _join(self._spelled, way, name)
                if rules.case is Case.ANY:
                    _join(self._loose, _folded(name), name)
        self._mend_slips(fresh)

    def _mend_slips(self, names: Iterable[str]) -> None:
        """A name that is another one with a stray mark or particle is that other."""
        for name in names:
            if name and (name[0] in _MARKS or name[-1] in _MARKS or name[-1] == "的"):
                bare = name.strip(_MARKS)
                meant = bare if bare != name else bare.removesuffix("的")
                if meant != name and meant in self._owners:
                    for owner in self._owners.pop(name):
                        _join(self._owners, meant, owner)
                    self._unspell(name)

    def _drop(self, owner: str, surfaces: Iterable[str]) -> None:
        for name in map(str.strip, surfaces):
            left = tuple(other for other in self._owners.get(name, ()) if other != owner)
            if left:
                self._owners[name] = left
            elif self._owners.pop(name, None) is not None:
                self._unspell(name)

    def _unspell(self, name: str) -> None:
        """Nobody is called so any more."""
        for table, way in [*((self._spelled, way) for way in _ways(name, ())), (self._loose, _folded(name))]:
            left = tuple(other for other in table.get(way, ()) if other != name)
            if left:
                table[way] = left
            else:
                table.pop(way, None)

    def _ways_of(self, owner: str) -> Iterator[str]:
        for name in map(str.strip, self._given[owner]):
            if name:
                yield from _ways(name, ())

    def find(self, text: str) -> list[Hit]:
        """Every mention, in order; a name that several own is a mention of each."""
        found = self._matches(text)
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
                ends_word(text, end, pattern.last) and begins_word(text, start, pattern.first)
            ):
                continue
            if pattern.only is not None:
                hits.append(Hit(pattern.only, key, start, end))
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
                found += [(text[start:end], start, end) for _, start, end in self._any.find(_folded(text))]
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
        for name in (*spelled, *self._loose.get(_folded(key), ())):
            for owner in self._owners[name]:
                rules = self._rules.get(owner, _DEFAULT)
                if key == name or rules.case is Case.ANY or (rules.case is Case.SMART and name in spelled):
                    owners[owner] = rules
        first, last = script_of(key[0]), script_of(key[-1])
        plain = len(owners) == 1 and first is not Script.HAN and not any(r.without for r in owners.values())
        made = _Pattern(tuple(self._in_order(owners)), next(iter(owners)) if plain else None, first, last)
        if len(self._patterns) < _PATTERNS:
            self._patterns[key] = made
        return made

    def _in_order(self, owners: dict[str, Rules]) -> list[tuple[str, Rules]]:
        """Several owners of one name, as they were listed."""
        if len(owners) > 1 and not self._places:
            self._places = {owner: place for place, owner in enumerate(self._given)}
        return sorted(owners.items(), key=lambda pair: self._places.get(pair[0], 0))

    def _standing(self, text: str, start: int, end: int, pattern: _Pattern) -> list[Hit]:
        """The mentions a match amounts to: none where it is a piece of other words, or means something else."""
        hits = []
        for owner, rules in pattern.owners:
            if pattern.first is Script.HAN and not self._edges.stands(text, start, end, person=rules.person):
                continue
            if rules.without and _meant_otherwise(text, start, end, rules.without):
                continue
            hits.append(Hit(owner, text[start:end], start, end))
        return hits


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


def _join(table: dict[str, tuple[str, ...]], key: str, more: str) -> None:
    known = table.get(key)
    if known is None:
        table[key] = (more,)
    elif more not in known:
        table[key] = (*known, more)


def _folded(text: str) -> str:
    """The text in small letters, character for character, so that offsets stay."""
    small = text.lower()
    if len(small) == len(text):
        return small
    return "".join([lower if len(lower := character.lower()) == 1 else character for character in text])


def _ways(name: str, common: Collection[str]) -> tuple[str, ...]:
    """How a name may be written: as it is, in capitals, at the head of a sentence, in small letters if that is rare."""
    ways = {name: None, name[0].upper() + name[1:]: None}
    if len(name) > 1:
        ways[name.upper()] = None
    if name[0].isupper() and (small := name.lower()) not in common:
        ways[small] = None
    return tuple(ways)


def _ordinary(words: Set[str]) -> Set[str]:
    """The common words among these: those that a large vocabulary spells as one token."""
    count = encoding("o200k_base").count
    return {word for word in words if len(word) <= _COMMON and word.isalpha() and count(" " + word) == 1}


def _meant_otherwise(text: str, start: int, end: int, phrases: tuple[str, ...]) -> bool:
    """Does the match stand inside one of these phrases?"""
    for phrase in phrases:
        low = _folded(phrase)
        near = max(start - len(low), 0)
        at = _folded(text[near : end + len(low)]).find(low)
        while at >= 0:
            if near + at <= start and end <= near + at + len(low):
                return True
            at = _folded(text[near : end + len(low)]).find(low, at + 1)
    return False
