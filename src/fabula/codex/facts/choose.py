"""Choose the facts of an entry: which sentences there are of it, and which of them may enter prompts (cdx-10).

The best ones may enter any prompt; the others that are likely enough only where the scene has words of them. Where two
say nearly the same in other words, the one that is told later in the story replaces the other for whoever knows both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil

from msgspec.structs import replace

from fabula.codex.facts.fact import POSSIBLE, Fact
from fabula.core.story import Timeline

MAX_FACTS = 200  # of one entry, the most telling ones
MIN_FACTS = 5  # of one entry that may enter any prompt, where so many are likely enough worth knowing
OFTEN = 30  # mentions of an entry, which has five facts in prompts if it can
# the least chances that a reader finds a sentence worth knowing which may enter prompts; of an entry that is named
# often, `POSSIBLE` is enough
TELLING = 0.33  # of a sentence that shows by its form that it lasts, or what became of somebody
QUITE_LIKELY = 0.42  # of others whose form shows nothing
VERY_LIKELY = 0.75  # of those behind the first five, which else need a scene with their words
MIN_SHARED_TERMS = 0.6  # of the terms of two facts about one thing


def choose_facts(
    facts: Sequence[Fact], dismissed: frozenset[str], is_often_named: bool, timeline: Timeline
) -> tuple[Fact, ...]:
    """The facts of an entry, each sentence once, the most telling ones first; `facts` are in reading order."""
    by_id: dict[str, Fact] = {}
    roles: set[str] = set()
    for fact in facts:
        if fact.id not in dismissed and fact.role not in roles:
            known = by_id.setdefault(fact.id, fact)
            if known is not fact:  # a sentence that two of them found
                found = known if known.is_lasting else fact
                by_id[fact.id] = replace(found, score=max(known.score, fact.score), terms=known.terms or fact.terms)
            roles.update(filter(None, [fact.role]))
    best = [
        _judge(fact, number, is_often_named=is_often_named)
        for number, fact in enumerate(sorted(by_id.values(), key=lambda fact: -fact.score)[:MAX_FACTS])
    ]
    places = {ident: number for number, ident in enumerate(by_id)}
    possible = [fact for fact in best if fact.is_possible and fact.terms]
    possible.sort(key=lambda fact: (timeline.story_time(fact.since.document) or 0.0, places[fact.id]))
    later: dict[str, list[Fact]] = {}
    for earlier, other in _find_alike(possible):
        later.setdefault(earlier.id, []).append(other)
    return tuple(_mark_replaced(fact, later[fact.id]) if fact.id in later else fact for fact in best)


def _judge(fact: Fact, number: int, *, is_often_named: bool) -> Fact:
    """A fact with whether it may enter prompts, behind `number` others of its entry."""
    least = POSSIBLE if is_often_named else TELLING if fact.is_lasting else QUITE_LIKELY
    is_possible = fact.score >= least
    is_lasting = is_possible if number < MIN_FACTS else fact.score >= VERY_LIKELY
    return replace(fact, is_lasting=is_lasting, is_possible=is_possible)


def _mark_replaced(fact: Fact, later: Sequence[Fact]) -> Fact:
    """A fact with those that replace it, and the place where the first one does that all who know it may know."""
    known_to_all = (one for one in later if one.known_to is None or (fact.known_to or {""}) <= one.known_to)
    first = next(known_to_all, None)
    return replace(fact, until=first and first.since, replaced_by=tuple(one.id for one in later))


def _find_alike(facts: Sequence[Fact]) -> Iterator[tuple[Fact, Fact]]:
    """The pairs of facts that share most of their terms, the earlier one first.

    Two such facts share one of the rarest terms of each, so only facts that do are compared.
    """
    counts = Counter(term for fact in facts for term in fact.terms)
    by_rare: dict[str, list[Fact]] = {}
    for fact in facts:
        terms = sorted(fact.terms, key=lambda term: (counts[term], term))
        rare = terms[: len(terms) - ceil(MIN_SHARED_TERMS * len(terms)) + 1]
        own = frozenset(terms)
        for other in {one.id: one for term in rare for one in by_rare.get(term, ())}.values():
            shared = len(own.intersection(other.terms))
            if shared >= MIN_SHARED_TERMS * (len(terms) + len(other.terms) - shared):
                yield other, fact
        for term in rare:
            by_rare.setdefault(term, []).append(fact)
