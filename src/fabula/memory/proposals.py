"""The learner: from outcomes to proposals, offline.

Votes on a topic are weighed as odds: how much better "the writer has this habit, and keeps to it nine times
in ten" explains them than "it came about by chance". A habit is proposed when at least four outcomes, and
four in five, speak for it, and the odds are a thousand to one; for single words and phrases, of which there
are so many that some will always look like a habit, twenty thousand to one.

`Learner` is the seam: whoever can make proposals from outcomes can stand in this one's place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import log
from typing import Protocol

from msgspec import Struct

from fabula.core.view import Language
from fabula.memory.evidence import (
    LEAST,
    LIKELIEST,
    Case,
    Vote,
    case,
    choice,
    length,
    mark_count,
    more,
    presence,
    quoted,
    speech,
)
from fabula.memory.model import Fate, Outcome
from fabula.memory.style_metrics import Traits
from fabula.memory.topics import LESS, MARKS, MORE, subject_of, wording

KEEPS_TO_IT = 0.9
FEWEST = 4  # agreeing outcomes
SHARE = 0.8  # of all votes
ODDS, ODDS_OF_WORDS = log(1_000), log(20_000)
QUOTES = 8  # kept as evidence, the newest
DIFFERENT = 3  # adverbs that must have gone before they are all meant
_NOBODY: Mapping[str, frozenset[str]] = {}


class Proposal(Struct, frozen=True, kw_only=True):
    """What a learner believes of a writer, and why."""

    topic: str
    text: str
    agreeing: int
    against: int
    seen: str  # when an outcome last spoke for it
    evidence: tuple[str, ...] = ()  # outcomes by their ids, each with a few words
    holds: bool = True  # False: there are votes, and they are not enough


class Learner(Protocol):
    """Whoever makes proposals from outcomes."""

    def proposals(
        self,
        outcomes: Sequence[Outcome],
        language: Language,
        told: Mapping[str, frozenset[str]] = ...,
        known: Collection[str] = ...,
    ) -> list[Proposal]:
        """What outcomes show, and what they say of the `known` topics, for or against.

        `told` are the subjects of the memories in each outcome's prompt, by its id.
        """
        ...


class Heuristics:
    """Counts marks, lengths, persons, tenses and words. It needs no model and no network."""

    def proposals(
        self,
        outcomes: Sequence[Outcome],
        language: Language,
        told: Mapping[str, frozenset[str]] = _NOBODY,
        known: Collection[str] = (),
    ) -> list[Proposal]:
        """Every topic with votes, the best supported first; `holds` where they are enough."""
        cases = [case(n, one, language, told.get(one.id, frozenset())) for n, one in enumerate(outcomes)]
        found = [_weighed(topic, votes, cases, outcomes, language) for topic, votes in _named(cases)]
        broad = frozenset(one.topic for one in found if one.holds)
        found += _words(cases, outcomes, language, broad)
        there = {one.topic for one in found}
        for topic in known:
            if topic not in there and topic.startswith(("word:", "phrase:")):
                found.append(_weighed(topic, _word_votes(topic, cases), cases, outcomes, language, ODDS_OF_WORDS))
        voted = (one for one in found if one.agreeing or (one.against and one.topic in known))
        return sorted(voted, key=lambda one: (-one.agreeing, one.topic))


def voters(topic: str, outcomes: Sequence[Outcome], language: Language) -> list[str]:
    """The outcomes that speak for a topic, by id."""
    cases = [case(n, one, language, frozenset()) for n, one in enumerate(outcomes)]
    named = not topic.startswith(("word:", "phrase:"))
    votes = dict(_named(cases)).get(topic, []) if named else _word_votes(topic, cases)
    return [outcomes[vote.outcome].id for vote in votes if vote.agrees]


def odds(votes: Iterable[Vote]) -> float:
    """The logarithm of the odds that votes speak of a habit rather than of chance."""
    return sum(
        log(KEEPS_TO_IT / vote.chance) if vote.agrees else log((1 - KEEPS_TO_IT) / (1 - vote.chance)) for vote in votes
    )


def _named(cases: Sequence[Case]) -> Iterator[tuple[str, list[Vote]]]:
    """Votes on every topic that has a name of its own."""
    for mark in MARKS:
        count, subject = mark_count(mark), f"mark:{mark}"
        yield f"{subject}={LESS}", list(presence(subject, count, cases))
        yield f"{subject}={MORE}", list(more(subject, count, cases))
    yield "simile=less", list(presence("simile", lambda traits: traits.similes, cases))
    adverbs = list(presence("adverb", lambda traits: len(traits.adverbs), cases))
    gone = {word for vote in adverbs if vote.agrees for word in cases[vote.outcome].offered.adverbs}
    if len(gone) >= DIFFERENT:
        yield "adverb=less", adverbs
    ways: dict[str, list[Vote]] = {}
    for subject, votes in (
        ("sentence", length("sentence", lambda traits: traits.sentences, 3, cases)),
        ("paragraph", length("paragraph", lambda traits: traits.paragraphs, 2, cases)),
        ("dialogue", speech(cases)),
        ("person", choice("person", lambda traits: traits.person, cases)),
        ("tense", choice("tense", lambda traits: traits.tense, cases)),
    ):
        for way, vote in votes:
            ways.setdefault(f"{subject}={way}", []).append(vote)
    yield from ways.items()


def _words(
    cases: Sequence[Case], outcomes: Sequence[Outcome], language: Language, broad: frozenset[str]
) -> list[Proposal]:
    """Single words and phrases that go again and again; a phrase only where none of its words does."""
    found: list[Proposal] = []
    rewritten = [one for one in cases if one.fate is Fate.REWRITTEN]
    for kind, counted in (("word", _word_counts), ("phrase", _phrase_counts)):
        for word in _often_gone(rewritten, counted):
            if any(_covers(one.topic, word) for one in found) or (
                "adverb=less" in broad and any(word in one.offered.adverbs for one in cases)
            ):
                continue
            topic = f"{kind}:{word}={LESS}"
            proposal = _weighed(topic, _word_votes(topic, cases), cases, outcomes, language, ODDS_OF_WORDS)
            if proposal.holds:
                found.append(proposal)
    return found


def _often_gone(rewritten: Sequence[Case], counted: Callable[[Traits], Counter[str]]) -> list[str]:
    """Words that could be a habit if nothing spoke against it, the most frequent first."""
    times: Counter[str] = Counter()
    odds_at_best: dict[str, float] = {}
    for one in rewritten:
        for word in counted(one.offered).keys() - counted(one.became).keys():
            times[word] += 1
            best = log(KEEPS_TO_IT / min(max(one.lost ** counted(one.offered)[word], LEAST), LIKELIEST))
            odds_at_best[word] = odds_at_best.get(word, 0.0) + best
    ranked = sorted(times.items(), key=lambda item: (-item[1], item[0]))
    return [word for word, often in ranked if often >= FEWEST and odds_at_best[word] >= ODDS_OF_WORDS - 1e-9]


def _word_votes(topic: str, cases: Sequence[Case]) -> list[Vote]:
    """Votes on a word or a phrase; a text may be rejected for so many that rejections say nothing."""
    subject = subject_of(topic)
    kind, _, word = subject.partition(":")
    count = partial(_count, _word_counts if kind == "word" else _phrase_counts, word)
    return list(presence(subject, count, cases, rejections=False))


def _word_counts(traits: Traits) -> Counter[str]:
    return traits.words


def _phrase_counts(traits: Traits) -> Counter[str]:
    return traits.phrases


def _count(counted: Callable[[Traits], Counter[str]], word: str, traits: Traits) -> int:
    return counted(traits)[word]


def _covers(topic: str, word: str) -> bool:
    """Is this said already: a word of the phrase, or most of its words in another phrase?"""
    known = subject_of(topic).partition(":")[2]
    if known in word or word in known:
        return True
    return len(set(known.split()) & set(word.split())) > 1


def _weighed(
    topic: str,
    votes: Sequence[Vote],
    cases: Sequence[Case],
    outcomes: Sequence[Outcome],
    language: Language,
    needed: float = ODDS,
) -> Proposal:
    agreeing = [vote for vote in votes if vote.agrees]
    words = subject_of(topic).partition(":")[2]
    evidence = []
    for vote in agreeing[-QUOTES:]:
        said = vote.quote or (quoted(cases[vote.outcome], words) if words else "")
        evidence.append(f"{outcomes[vote.outcome].id}: {said}".rstrip(": "))
    return Proposal(
        topic=topic,
        text=wording(topic, language),
        agreeing=len(agreeing),
        against=len(votes) - len(agreeing),
        seen=max((outcomes[vote.outcome].made for vote in agreeing), default=""),
        evidence=tuple(evidence),
        holds=len(agreeing) >= max(FEWEST, SHARE * len(votes)) and odds(votes) >= needed,
    )
