"""Votes: what one outcome says about the habits a writer may have.

A writer who takes every exclamation mark out of what was offered speaks for "avoid exclamation marks"; one
who accepts a text full of them speaks against it. How much a vote counts depends on how likely the same
would have come of any change as large (`chance`): whoever deletes half of a text deletes half of
everything in it. What a model did because it was told to is no vote of the writer's: where a memory about
the same subject stood in the prompt, only what the writer changed counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import exp

from msgspec import Struct

from fabula.core.view import Language
from fabula.memory.model import Fate, Outcome
from fabula.memory.style_metrics import Traits, mean
from fabula.memory.topics import LESS, MARKS, MORE

SHIFT = 0.8  # a length that falls to this share, or rises by as much, has changed
SPOKEN = 0.15  # the share of speech that must be added or taken out
LEAST, LIKELIEST = 0.15, 0.9  # no vote counts for more, or for nothing at all
REJECTED = 0.3  # a text may be rejected for many reasons, so a rejection never counts for more than this
BASE = 5  # texts without a trait that must be known before rejections of those with it say anything
QUOTE = 60  # characters of a quotation


class Vote(Struct, frozen=True):
    """One outcome for or against a topic."""

    outcome: int  # its number
    agrees: bool
    chance: float
    quote: str = ""


class Case(Struct, frozen=True):
    """An outcome with the traits of both texts, and how large the change was."""

    number: int
    fate: Fate
    offered: Traits
    became: Traits
    lost: float  # share of the words offered that are gone
    added: int  # words that are new
    told: frozenset[str]  # subjects of memories that stood in the prompt


def case(number: int, outcome: Outcome, language: Language, told: frozenset[str]) -> Case:
    """An outcome, made ready to be asked about."""
    offered = Traits(outcome.offered, language)
    if outcome.fate is not Fate.REWRITTEN:
        return Case(number, outcome.fate, offered, offered, 0.0, 0, told)
    became = Traits(outcome.became, language)
    before, after = offered.pairs(), became.pairs()
    kept, all_of_it = (before & after).total(), before.total()
    return Case(number, outcome.fate, offered, became, 1 - kept / all_of_it, max(after.total() - kept, 0), told)


Count = Callable[[Traits], int]


def presence(subject: str, count: Count, cases: Sequence[Case], *, rejections: bool = True) -> Iterator[Vote]:
    """Votes for leaving something out: a mark, a word, similes."""
    base = _base(count, cases) if rejections else None
    usual = sum(count(one.offered) for one in cases) / max(sum(len(one.offered.tokens) for one in cases), 1)
    for one in cases:
        before = count(one.offered)
        if not before:
            continue
        if one.fate is Fate.REWRITTEN:
            after = count(one.became)
            if 0 < after < before or (after == before and subject in one.told):
                continue  # some of them went, some stayed: no clear word; or the model was told, and let be
            yield Vote(one.number, not after, _gone(one, before, usual))
        elif subject not in one.told:
            if one.fate is Fate.ACCEPTED:
                yield Vote(one.number, False, LEAST)
            elif base is not None:
                yield Vote(one.number, True, base)


def more(subject: str, count: Count, cases: Sequence[Case]) -> Iterator[Vote]:
    """Votes for more of something: at least two added, and twice as many as there were."""
    for one in cases:
        before, after = count(one.offered), count(one.became)
        if one.fate is Fate.REWRITTEN and after >= max(before + 2, 2 * before):
            words = max(len(one.offered.tokens), 1)
            yield Vote(one.number, True, _within(one.added / words, LEAST, 0.5))
        elif one.fate is not Fate.REJECTED and subject not in one.told:
            yield Vote(one.number, False, LEAST)


def length(
    subject: str, sizes: Callable[[Traits], tuple[int, ...]], least: int, cases: Sequence[Case]
) -> Iterator[tuple[str, Vote]]:
    """Votes for shorter or longer sentences or paragraphs."""
    moved: dict[str, list[float]] = {LESS: [], MORE: []}
    still: list[tuple[Case, float]] = []
    for one in cases:
        if one.fate is Fate.REJECTED or min(len(sizes(one.offered)), len(sizes(one.became))) < least:
            continue
        before, after = mean(sizes(one.offered)), mean(sizes(one.became))
        # A paragraph that lost sentences, or got some, is shorter or longer for that alone.
        grown = sum(sizes(one.became)) / sum(sizes(one.offered)) if subject == "paragraph" else 1.0
        short, long = after <= SHIFT * before * min(grown, 1.0), before * max(grown, 1.0) <= SHIFT * after
        way = LESS if short else MORE if long else ""
        if not way:
            still.append((one, before))
            continue
        moved[way].append(before)
        said = f"{before:.0f} → {after:.0f}"
        yield way, Vote(one.number, True, _moved(one), said)
        yield _other(way), Vote(one.number, False, _moved(one))
    for one, before in still:
        # Only what the writer would have changed, had they minded: as long as what they did change.
        for way, sign in ((LESS, 1), (MORE, -1)):
            if moved[way] and subject not in one.told and sign * before >= sign * (sum(moved[way]) / len(moved[way])):
                yield way, Vote(one.number, False, LEAST)


def speech(cases: Sequence[Case]) -> Iterator[tuple[str, Vote]]:
    """Votes for more dialogue or less."""
    for one in cases:
        if one.fate is Fate.REJECTED or len(one.offered.tokens) < 30:
            continue
        before, after = one.offered.spoken, one.became.spoken
        if abs(after - before) >= SPOKEN:
            way = MORE if after > before else LESS
            yield way, Vote(one.number, True, _moved(one), f"{before:.0%} → {after:.0%}")
            yield _other(way), Vote(one.number, False, _moved(one))
        elif "dialogue" not in one.told:
            if before >= SPOKEN:
                yield LESS, Vote(one.number, False, LEAST)
            if before <= 1 - SPOKEN:
                yield MORE, Vote(one.number, False, LEAST)


def choice(subject: str, chosen: Callable[[Traits], str], cases: Sequence[Case]) -> Iterator[tuple[str, Vote]]:
    """Votes for a person or a tense."""
    for one in cases:
        before, after = chosen(one.offered), chosen(one.became)
        if one.fate is Fate.REJECTED or not before or not after:
            continue
        if before != after:
            yield after, Vote(one.number, True, 2 * LEAST, f"{before} → {after}")
            yield before, Vote(one.number, False, 2 * LEAST)
        elif subject not in one.told:
            for way in {"first": ("third",), "third": ("first",), "past": ("present",), "present": ("past",)}[before]:
                yield way, Vote(one.number, False, LEAST)


def mark_count(mark: str) -> Count:
    """How often a mark stands in a text."""
    return lambda traits: traits.marks[mark]


def quoted(one: Case, words: str) -> str:
    """Where it stood in what was offered, briefly."""
    needles = MARKS.get(words, (words,))
    for needle in needles:
        said = one.offered.sentence_with(needle)
        if said:
            return said if len(said) <= QUOTE else said[: QUOTE - 1] + "…"
    return ""


def _base(count: Count, cases: Sequence[Case]) -> float | None:
    """How often texts without it are rejected anyway."""
    plain = [one for one in cases if not count(one.offered)]
    if len(plain) < BASE:
        return None
    rejected = sum(one.fate is Fate.REJECTED for one in plain)
    return _within((rejected + 1) / (len(plain) + 2), REJECTED, LIKELIEST)


def _gone(one: Case, before: int, usual: float) -> float:
    """How likely a change as large would have taken all of them out, and put none back in.

    `usual` is how often a word of what is offered is one of them. Such things come in crowds, so that they
    stay away more often than it says: hence the half.
    """
    return _within(one.lost**before * exp(-usual * one.added / 2), LEAST, LIKELIEST)


def _moved(one: Case) -> float:
    return _within(one.lost / 2, LEAST, 0.5)


def _other(way: str) -> str:
    return MORE if way == LESS else LESS


def _within(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)
