"""Which Chinese candidates are believed, and which of them are one and the same.

Every candidate comes with what the whole book shows of it. Believed is who does what people do and is
free on both sides; 林之 and 宝玉听 are bound on one. Names are one where the book introduces them so,
where one is the other with its surname before it and nobody else has that name, or with 儿 behind it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import log

from ahocorasick_rs import AhoCorasick, MatchKind
from msgspec import Struct, field

from fabula.text.extraction.chinese_words import ARMIES, GENERIC, PLACES, TITLES
from fabula.text.extraction.proposals import Found, Kind, Place, Texts
from fabula.text.names.surnames import ALSO_WORDS, DOUBLE, PLAIN, surname_of

EXAMPLES = 3
NAME_TAGS = ("nr", "ns", "nt", "nz")
NOUNS = ("n", "q", "x", "")


class Seen(Struct):
    """What was seen of one candidate."""

    word: str
    tag: str  # what the dictionary takes it for; "" when it does not know it
    speeches: int  # clauses that begin with it and go on with speaking
    count: int = 0
    begins: int = 0  # clauses
    acts: int = 0
    counted: int = 0  # 一个…, 众…
    entered: int = 0
    left: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)

    def share(self, part: int) -> float:
        """A part of all times it was seen."""
        return part / self.count

    @property
    def free(self) -> float:
        """How free its neighbours are, on the side where they are less so: 0 bound, 1 anything goes."""
        return min(_spread(self.left, self.count), _spread(self.right, self.count))


def _spread(beside: Counter[str], count: int) -> float:
    """Entropy as a share of what it could be; what is not counted (an edge, a deed) is unlike all others."""
    if count < 2:
        return 0.0
    return 1.0 - sum(n * log(n) for n in beside.values()) / (count * log(count))


class Belief(Struct, frozen=True):
    """What a candidate is taken for, and how surely."""

    kind: Kind
    sure: float


def gathered(seen: Mapping[str, Seen], introduced: Iterable[tuple[str, str]], texts: Texts) -> list[Found]:
    """The names that are believed, those of one person together, counted where they stand by themselves."""
    beliefs = {word: belief for word, one in seen.items() if (belief := _belief(one)) is not None}
    beliefs = _whole(beliefs, seen)
    groups = _one_person(beliefs, seen, introduced)
    owner = {word: name for name, words in groups.items() for word in words}
    counts: Counter[str] = Counter()
    places: dict[str, list[Place]] = {}
    surfaces = list(owner)
    automaton = AhoCorasick(surfaces, matchkind=MatchKind.LeftmostLongest)
    for number, (_, text) in enumerate(texts):
        for pattern, start, _ in automaton.find_matches_as_indexes(text):
            word = surfaces[pattern]
            counts[word] += 1
            known = places.setdefault(owner[word], [])
            if len(known) < EXAMPLES:
                known.append(Place(number, start))
    return [_found(words, beliefs, counts, places[name]) for name, words in groups.items() if name in places]


def _belief(one: Seen) -> Belief | None:
    if one.free < 0.5 or one.share(one.counted) > 0.1:
        return None
    acts, entered = one.share(one.acts), one.share(one.entered)
    if entered > 0.12 and acts < 0.08:
        place = one.tag.startswith(("ns", "nt")) or one.word[-1] in PLACES
        return Belief("location", min(1.0, 0.4 + entered)) if place else None
    surname = surname_of(one.word)
    if surname and _is_called(one, surname):
        return Belief("character", min(1.0, 0.6 + 2 * acts))
    ordinary = one.tag != "" and not one.tag.startswith(NAME_TAGS)
    speaks = one.speeches >= max(2, one.count // 50) and one.tag[:1] in ("", "n", "q", "x")
    short = len(one.word) < 4 or one.tag.startswith("nr")
    if speaks and short and one.share(one.begins) > 0.35 and acts > (0.22 if ordinary else 0.15):
        return Belief("character", min(1.0, 0.4 + 2 * acts))
    return None


def _is_called(one: Seen, surname: str) -> bool:
    """Is this a surname with a name or a title behind it, rather than a word that happens to begin so?"""
    acts, given = one.share(one.acts), one.word[len(surname) :]
    if given in TITLES:
        return acts > 0.05
    if given == surname or len(given) > 2 or (given[-1] in ARMIES and len(one.word) < 4) or one.share(one.begins) < 0.2:
        return False
    if not one.tag:
        return acts > (0.1 if surname in ALSO_WORDS else 0.03)
    if surname in ALSO_WORDS or one.acts < 3:
        return False
    return acts > (0.02 if one.tag.startswith("nr") else 0.08 if one.tag.startswith(NAME_TAGS) else 0.14)


def _whole(beliefs: Mapping[str, Belief], seen: Mapping[str, Seen]) -> dict[str, Belief]:
    """Those that are neither a name with more stuck to it nor a piece of a longer one."""
    kept = dict(beliefs)
    for word in sorted(beliefs, key=len, reverse=True):
        count = seen[word].count
        for start in range(len(word) - 1):
            for end in range(start + 2, len(word) + 1):
                inner = word[start:end]
                if inner == word or inner not in kept or word not in kept:
                    continue
                if seen[inner].count < 1.3 * count:
                    del kept[inner]
                elif not _grown(word, inner) and seen[inner].count > 2 * count:
                    del kept[word]
    return kept


def _grown(word: str, inner: str) -> bool:
    """Is the longer one the same with a surname before it, or 儿 behind it?"""
    before, behind = word[: word.index(inner)], word[word.index(inner) + len(inner) :]
    named = before in DOUBLE or before in PLAIN
    return (named or not before) and behind in ("", "儿") and bool(before or behind)


def _one_person(
    beliefs: Mapping[str, Belief], seen: Mapping[str, Seen], introduced: Iterable[tuple[str, str]]
) -> dict[str, list[str]]:
    """Names by the person they belong to, each person under the name used most."""
    home = {word: word for word in beliefs}

    def root(word: str) -> str:
        while home[word] != word:
            word = home[word]
        return word

    def join(first: str, second: str) -> None:
        home[root(second)] = root(first)

    fulls: dict[str, set[str]] = {}
    people = {word for word, belief in beliefs.items() if belief.kind == "character"}
    for full, other in introduced:
        if full in seen and other in seen and other not in GENERIC and (full in people or other in people):
            fulls.setdefault(other, set()).add(full)
    for other, those in fulls.items():
        if len(those) == 1:
            full = next(iter(those))
            home.setdefault(other, other)
            home.setdefault(full, full)
            join(full, other)
    longer: dict[str, Counter[str]] = {}
    for word, one in seen.items():
        surname = surname_of(word)
        given = word[len(surname) :]
        if surname and surname not in ALSO_WORDS and len(given) == 2 and given in home:
            # 孙权 is whole without anything before it: 封孙权 is chance.
            complete = given[0] in PLAIN and surname not in DOUBLE
            if not complete:
                longer.setdefault(given, Counter())[word] = one.count
        if word.endswith("儿") and word in home and word[:-1] in home:
            join(word[:-1], word)
    for given, wholes in longer.items():
        word, count = wholes.most_common(1)[0]
        if count >= 0.8 * wholes.total():
            home.setdefault(word, word)
            join(given, word)
    groups: dict[str, list[str]] = {}
    for word in sorted(home, key=lambda word: (-seen[word].count, word)):
        groups.setdefault(root(word), []).append(word)
    return {words[0]: words for words in groups.values()}


def _found(words: list[str], beliefs: Mapping[str, Belief], counts: Counter[str], places: list[Place]) -> Found:
    ordered = sorted((word for word in words if counts[word]), key=lambda word: (-counts[word], word))
    known = [beliefs[word] for word in words if word in beliefs]
    best = max(known, key=lambda belief: (belief.kind == "character", belief.sure))
    return Found(
        name=ordered[0],
        aliases=tuple(ordered[1:]),
        kind=best.kind,
        mentions=sum(counts[word] for word in ordered),
        sure=best.sure,
        places=places,
    )
