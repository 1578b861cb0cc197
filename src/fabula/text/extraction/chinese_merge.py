"""Decide which Chinese candidates are names, and which names belong to one person.

Every candidate comes with its statistics over the whole book. A name acts as people do and has varying neighbours on
both sides; 林之 and 宝玉听 are bound on one side. Two names belong to one person where the book introduces them so,
where one is the other with its surname and nobody else has that name, or where one is the other with 儿 added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import log

from msgspec import Struct, field

from fabula.text.automaton import Automaton
from fabula.text.extraction.chinese_words import (
    DEED_ENDINGS,
    GENERIC_PERSONS,
    PLACE_ENDINGS,
    POSSESSION_ENDINGS,
    TITLES,
    VERBAL_TAGS,
)
from fabula.text.extraction.model import MAX_EXAMPLES, ExtractedName, Kind, TextPlace, Texts
from fabula.text.names.surnames import DOUBLE_SURNAMES, SURNAMES_THAT_ARE_WORDS, UNAMBIGUOUS_SURNAMES, surname_of
from fabula.text.segmenter import find_tag

MANY_MENTIONS = 15  # so many that a name would occur in every position
NAME_TAGS = ("nr", "ns", "nt", "nz")
NOUN_TAGS = ("n", "q", "x", "")


class CandidateStatistics(Struct):
    """What the book shows of one candidate."""

    word: str
    tag: str  # its part of speech in the dictionary; "" for an unknown word
    speeches: int  # clauses that begin with it and continue with a verb of speaking
    count: int = 0
    clause_starts: int = 0
    actions: int = 0  # followed by something that people do
    measured: int = 0  # after a measure word: 一个…, 众…
    entered: int = 0  # after a verb of movement
    left: Counter[str] = field(default_factory=Counter)  # the characters before it,
    right: Counter[str] = field(default_factory=Counter)  # and after it

    def share(self, part: int) -> float:
        """A part of all occurrences."""
        return part / self.count

    @property
    def freedom(self) -> float:
        """How much the neighbours vary, on the side where they vary less: from 0 (bound) to 1 (free)."""
        return min(_relative_entropy(self.left, self.count), _relative_entropy(self.right, self.count))


def _relative_entropy(neighbours: Counter[str], count: int) -> float:
    """Entropy as a share of its maximum; occurrences without a counted neighbour are unlike all others."""
    if count < 2:
        return 0.0
    return 1.0 - sum(n * log(n) for n in neighbours.values()) / (count * log(count))


class KindEstimate(Struct, frozen=True):
    """The kind of a candidate, and how sure that is."""

    kind: Kind
    confidence: float


def merge_candidates(
    candidates: Mapping[str, CandidateStatistics], introduced: Iterable[tuple[str, str]], texts: Texts
) -> list[ExtractedName]:
    """The candidates that are names, those of one person merged, counted where no longer name contains them."""
    estimates = {
        word: estimate for word, candidate in candidates.items() if (estimate := _estimate_kind(candidate)) is not None
    }
    estimates = _drop_fragments(estimates, candidates)
    groups = _group_by_person(estimates, candidates, introduced)
    group_of = {word: name for name, words in groups.items() for word in words}
    counts: Counter[str] = Counter()
    places: dict[str, list[TextPlace]] = {}
    words = list(group_of)
    automaton = Automaton(words, leftmost_longest=True)
    for number, (_, text) in enumerate(texts):
        for pattern, start, _ in automaton.find(text):
            word = words[pattern]
            counts[word] += 1
            examples = places.setdefault(group_of[word], [])
            if len(examples) < MAX_EXAMPLES:
                examples.append(TextPlace(number, start))
    return [_make_name(members, estimates, counts, places[name]) for name, members in groups.items() if name in places]


def _estimate_kind(candidate: CandidateStatistics) -> KindEstimate | None:
    """The kind of a candidate; None where it is no name."""
    if candidate.freedom < 0.5 or candidate.share(candidate.measured) > 0.1 or _is_phrase(candidate):
        return None
    actions, entered = candidate.share(candidate.actions), candidate.share(candidate.entered)
    if entered > 0.12 and actions < 0.08:
        is_place = candidate.tag.startswith(("ns", "nt")) or (
            candidate.word[-1] in PLACE_ENDINGS and (not candidate.tag or candidate.tag.startswith(NAME_TAGS))
        )
        return KindEstimate("location", min(1.0, 0.4 + entered)) if is_place else None
    surname = surname_of(candidate.word)
    if surname and _is_full_name(candidate, surname):
        return KindEstimate("character", min(1.0, 0.6 + 2 * actions))
    is_common_word = candidate.tag != "" and not candidate.tag.startswith(NAME_TAGS)
    speaks = candidate.speeches >= max(2, candidate.count // 50) and candidate.tag[:1] in ("", "n", "q", "x")
    is_short = len(candidate.word) < 4 or candidate.tag.startswith("nr")
    begins_clauses = candidate.share(candidate.clause_starts) > 0.35
    if speaks and is_short and begins_clauses and actions > (0.22 if is_common_word else 0.15):
        return KindEstimate("character", min(1.0, 0.4 + 2 * actions))
    return None


def _is_phrase(candidate: CandidateStatistics) -> bool:
    """Is it what somebody does (操怒), or a request or manner that only begins clauses (万望, 快早)?"""
    word = candidate.word
    if word.endswith(DEED_ENDINGS):
        return True
    if candidate.count >= MANY_MENTIONS and candidate.share(candidate.clause_starts) > 0.93:
        return not UNAMBIGUOUS_SURNAMES.issuperset(word[:1])  # a name is also an object
    return not candidate.tag and len(word) == 2 and all(find_tag(character) in VERBAL_TAGS for character in word)


def _is_full_name(candidate: CandidateStatistics, surname: str) -> bool:
    """Is this a surname with a given name or a title, rather than a word that happens to begin so?"""
    actions, given = candidate.share(candidate.actions), candidate.word[len(surname) :]
    if given in TITLES:
        return actions > 0.05
    if given == surname or len(given) > 2 or candidate.share(candidate.clause_starts) < 0.2:
        return False
    if given[-1] in POSSESSION_ENDINGS and len(candidate.word) < 4:
        return False
    is_word = surname in SURNAMES_THAT_ARE_WORDS
    if not candidate.tag:
        return actions > (0.1 if is_word else 0.03)
    if is_word or candidate.actions < 3:
        return False
    if candidate.tag.startswith("nr"):
        return actions > 0.02
    return actions > (0.08 if candidate.tag.startswith(NAME_TAGS) else 0.14)


def _drop_fragments(
    estimates: Mapping[str, KindEstimate], candidates: Mapping[str, CandidateStatistics]
) -> dict[str, KindEstimate]:
    """The estimates without names that have more attached to them and without parts of a longer name."""
    remaining = dict(estimates)
    for word in sorted(estimates, key=len, reverse=True):
        count = candidates[word].count
        for start in range(len(word) - 1):
            for end in range(start + 2, len(word) + 1):
                inner = word[start:end]
                if inner == word or inner not in remaining or word not in remaining:
                    continue
                if candidates[inner].count < 1.3 * count:
                    del remaining[inner]
                elif not _is_extended_name(word, inner) and candidates[inner].count > 2 * count:
                    del remaining[word]
    return remaining


def _is_extended_name(word: str, inner: str) -> bool:
    """Is the longer word the shorter one with a surname before it, or 儿 after it?"""
    before, after = word[: word.index(inner)], word[word.index(inner) + len(inner) :]
    has_surname = before in DOUBLE_SURNAMES or before in UNAMBIGUOUS_SURNAMES
    return (has_surname or not before) and after in ("", "儿") and bool(before or after)


def _group_by_person(
    estimates: Mapping[str, KindEstimate],
    candidates: Mapping[str, CandidateStatistics],
    introduced: Iterable[tuple[str, str]],
) -> dict[str, list[str]]:
    """The names of each person, under the name that is used most."""
    parent = {word: word for word in estimates}  # a disjoint-set forest

    def find_root(word: str) -> str:
        while parent[word] != word:
            word = parent[word]
        return word

    def join(first: str, second: str) -> None:
        parent[find_root(second)] = find_root(first)

    full_names: dict[str, set[str]] = {}
    people = {word for word, estimate in estimates.items() if estimate.kind == "character"}
    for full, other in introduced:
        is_known = full in candidates and other in candidates and other not in GENERIC_PERSONS
        if is_known and (full in people or other in people):
            full_names.setdefault(other, set()).add(full)
    for other, fulls in full_names.items():
        if len(fulls) == 1:
            full = next(iter(fulls))
            parent.setdefault(other, other)
            parent.setdefault(full, full)
            join(full, other)
    with_surname: dict[str, Counter[str]] = {}
    for word, candidate in candidates.items():
        surname = surname_of(word)
        given = word[len(surname) :]
        if surname and surname not in SURNAMES_THAT_ARE_WORDS and len(given) == 2 and given in parent:
            # 孙权 is complete by itself: 封孙权 is an accident.
            is_complete = given[0] in UNAMBIGUOUS_SURNAMES and surname not in DOUBLE_SURNAMES
            if not is_complete:
                with_surname.setdefault(given, Counter())[word] = candidate.count
        if word.endswith("儿") and word in parent and word[:-1] in parent:
            join(word[:-1], word)
    for given, counts in with_surname.items():
        word, count = counts.most_common(1)[0]
        if count >= 0.8 * counts.total():
            parent.setdefault(word, word)
            join(given, word)
    groups: dict[str, list[str]] = {}
    for word in sorted(parent, key=lambda word: (-candidates[word].count, word)):
        groups.setdefault(find_root(word), []).append(word)
    return {words[0]: words for words in groups.values()}


def _make_name(
    words: list[str], estimates: Mapping[str, KindEstimate], counts: Counter[str], places: list[TextPlace]
) -> ExtractedName:
    ordered = sorted((word for word in words if counts[word]), key=lambda word: (-counts[word], word))
    known = [estimates[word] for word in words if word in estimates]
    best = max(known, key=lambda estimate: (estimate.kind == "character", estimate.confidence))
    return ExtractedName(
        name=ordered[0],
        aliases=tuple(ordered[1:]),
        kind=best.kind,
        mentions=sum(counts[word] for word in ordered),
        confidence=best.confidence,
        places=places,
    )
