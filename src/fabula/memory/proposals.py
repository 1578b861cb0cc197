"""Proposals: find the habits of a writer in outcomes, without a model (mem-2).

The votes on a topic are combined into odds: how much better they are explained by "the writer has this habit
and follows it nine times in ten" than by chance. A habit is proposed if at least four outcomes and four in
five support it, and the odds are 1,000 to 1. For single words and phrases the odds must be 20,000 to 1,
because among so many words some will always look like a habit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import log

from msgspec import Struct

from fabula.core.view import Language
from fabula.memory.evidence import (
    MAX_CHANCE,
    MIN_CHANCE,
    AnalysedOutcome,
    Vote,
    analyse_outcome,
    find_addition_votes,
    find_choice_votes,
    find_dialogue_votes,
    find_length_votes,
    find_removal_votes,
    quote_suggestion,
)
from fabula.memory.model import Decision, SuggestionOutcome
from fabula.memory.style_metrics import StyleMetrics
from fabula.memory.topics import LESS, MARKS, MORE, format_topic, get_subject

HABIT_RATE = 0.9  # how often a writer follows a habit
MIN_VOTES_FOR = 4
MIN_SHARE_FOR = 0.8  # of all votes
MIN_LOG_ODDS, MIN_WORD_LOG_ODDS = log(1_000), log(20_000)
MAX_QUOTES = 8  # the newest, kept as evidence
MIN_ADVERBS = 3  # different adverbs that must have been removed before adverbs as such are meant
_WORD_TOPICS = ("word:", "phrase:")
_COUNTS: Mapping[str, Callable[[StyleMetrics], Counter[str]]] = {
    "word": lambda metrics: metrics.words,
    "phrase": lambda metrics: metrics.phrases,
}


class MemoryProposal(Struct, frozen=True, kw_only=True):
    """A preference that a learner found, with its evidence."""

    topic: str
    text: str
    votes_for: int
    votes_against: int
    last_vote_at: str  # when an outcome last supported it
    evidence: tuple[str, ...] = ()  # the ids of outcomes, each with a short quotation
    is_supported: bool = True  # False: there are votes, but not enough


def find_proposals(
    outcomes: Sequence[SuggestionOutcome],
    language: Language,
    prompted_subjects: Mapping[str, frozenset[str]] | None = None,
    known_topics: Collection[str] = (),
) -> list[MemoryProposal]:
    """Return what the outcomes show, and their votes on the known topics, the best supported first.

    `prompted_subjects` are the subjects of the memories in each outcome's prompt, by the outcome's id.
    """
    analysed = _analyse(outcomes, language, prompted_subjects)
    proposals = [_make_proposal(topic, votes, language) for topic, votes in _find_votes(analysed)]
    supported = frozenset(one.topic for one in proposals if one.is_supported)
    proposals += _find_word_proposals(analysed, supported, language)
    found = {one.topic for one in proposals}
    proposals += [
        _make_word_proposal(topic, analysed, language)
        for topic in known_topics
        if topic not in found and topic.startswith(_WORD_TOPICS)
    ]
    voted = (one for one in proposals if one.votes_for or (one.votes_against and one.topic in known_topics))
    return sorted(voted, key=lambda one: (-one.votes_for, one.topic))


def find_supporting_outcomes(topic: str, outcomes: Sequence[SuggestionOutcome], language: Language) -> list[str]:
    """Return the ids of the outcomes that support a topic."""
    analysed = _analyse(outcomes, language)
    is_word = topic.startswith(_WORD_TOPICS)
    votes = _find_word_votes(topic, analysed) if is_word else dict(_find_votes(analysed)).get(topic, [])
    return [vote.outcome.outcome.id for vote in votes if vote.is_for]


def compute_log_odds(votes: Iterable[Vote]) -> float:
    """Return the logarithm of the odds of a habit against chance."""
    return sum(
        log(HABIT_RATE / vote.chance) if vote.is_for else log((1 - HABIT_RATE) / (1 - vote.chance)) for vote in votes
    )


def _analyse(
    outcomes: Sequence[SuggestionOutcome],
    language: Language,
    prompted_subjects: Mapping[str, frozenset[str]] | None = None,
) -> list[AnalysedOutcome]:
    subjects = prompted_subjects or {}
    return [analyse_outcome(outcome, language, subjects.get(outcome.id, frozenset())) for outcome in outcomes]


def _make_word_proposal(topic: str, outcomes: Sequence[AnalysedOutcome], language: Language) -> MemoryProposal:
    return _make_proposal(topic, _find_word_votes(topic, outcomes), language, MIN_WORD_LOG_ODDS)


def _make_proposal(
    topic: str, votes: Sequence[Vote], language: Language, min_log_odds: float = MIN_LOG_ODDS
) -> MemoryProposal:
    votes_for = [vote for vote in votes if vote.is_for]
    words = get_subject(topic).partition(":")[2]
    evidence = []
    for vote in votes_for[-MAX_QUOTES:]:
        quote = vote.quote or (quote_suggestion(vote.outcome, words) if words else "")
        evidence.append(f"{vote.outcome.outcome.id}: {quote}".rstrip(": "))
    has_votes = len(votes_for) >= max(MIN_VOTES_FOR, MIN_SHARE_FOR * len(votes))
    return MemoryProposal(
        topic=topic,
        text=format_topic(topic, language),
        votes_for=len(votes_for),
        votes_against=len(votes) - len(votes_for),
        last_vote_at=max((vote.outcome.outcome.created_at for vote in votes_for), default=""),
        evidence=tuple(evidence),
        is_supported=has_votes and compute_log_odds(votes) >= min_log_odds,
    )


def _find_votes(outcomes: Sequence[AnalysedOutcome]) -> Iterator[tuple[str, list[Vote]]]:
    """Find the votes on every topic except words and phrases."""
    for mark in MARKS:
        count, subject = partial(_count_mark, mark), f"mark:{mark}"
        yield f"{subject}={LESS}", list(find_removal_votes(subject, count, outcomes))
        yield f"{subject}={MORE}", list(find_addition_votes(subject, count, outcomes))
    yield f"simile={LESS}", list(find_removal_votes("simile", lambda metrics: metrics.similes, outcomes))
    adverb_votes = list(find_removal_votes("adverb", lambda metrics: len(metrics.adverbs), outcomes))
    removed = {word for vote in adverb_votes if vote.is_for for word in vote.outcome.before.adverbs}
    if len(removed) >= MIN_ADVERBS:
        yield f"adverb={LESS}", adverb_votes
    by_topic: dict[str, list[Vote]] = {}
    for subject, votes in (
        ("sentence", find_length_votes("sentence", lambda metrics: metrics.sentence_lengths, 3, outcomes)),
        ("paragraph", find_length_votes("paragraph", lambda metrics: metrics.paragraph_lengths, 2, outcomes)),
        ("dialogue", find_dialogue_votes(outcomes)),
        ("person", find_choice_votes("person", lambda metrics: metrics.person, outcomes)),
        ("tense", find_choice_votes("tense", lambda metrics: metrics.tense, outcomes)),
    ):
        for direction, vote in votes:
            by_topic.setdefault(f"{subject}={direction}", []).append(vote)
    yield from by_topic.items()


def _count_mark(mark: str, metrics: StyleMetrics) -> int:
    return metrics.marks[mark]


def _find_word_proposals(
    outcomes: Sequence[AnalysedOutcome], supported_topics: frozenset[str], language: Language
) -> list[MemoryProposal]:
    """Find words and phrases that the writer often removes; a phrase only if none of its words is proposed."""
    proposals: list[MemoryProposal] = []
    rewritten = [outcome for outcome in outcomes if outcome.decision is Decision.REWRITTEN]
    adverbs: set[str] = set()
    if f"adverb={LESS}" in supported_topics:
        adverbs = {word for outcome in outcomes for word in outcome.before.adverbs}
    for kind, list_counts in _COUNTS.items():
        for word in _find_removed_words(rewritten, list_counts):
            if word in adverbs or any(_covers(one.topic, word) for one in proposals):
                continue
            proposal = _make_word_proposal(f"{kind}:{word}={LESS}", outcomes, language)
            if proposal.is_supported:
                proposals.append(proposal)
    return proposals


def _find_removed_words(
    rewritten: Sequence[AnalysedOutcome], list_counts: Callable[[StyleMetrics], Counter[str]]
) -> list[str]:
    """Return the words that would be a habit if there were no votes against it, the most frequent first."""
    removals: Counter[str] = Counter()
    max_log_odds: dict[str, float] = {}
    for outcome in rewritten:
        before, after = list_counts(outcome.before), list_counts(outcome.after)
        for word in before.keys() - after.keys():
            removals[word] += 1
            chance = min(max(outcome.removed_share ** before[word], MIN_CHANCE), MAX_CHANCE)
            max_log_odds[word] = max_log_odds.get(word, 0.0) + log(HABIT_RATE / chance)
    ranked = sorted(removals.items(), key=lambda item: (-item[1], item[0]))
    return [word for word, times in ranked if times >= MIN_VOTES_FOR and max_log_odds[word] >= MIN_WORD_LOG_ODDS - 1e-9]


def _find_word_votes(topic: str, outcomes: Sequence[AnalysedOutcome]) -> list[Vote]:
    """Find the votes on a word or phrase; rejections do not count, because a text has too many words."""
    subject = get_subject(topic)
    kind, _, word = subject.partition(":")
    list_counts = _COUNTS[kind]
    return list(find_removal_votes(subject, lambda metrics: list_counts(metrics)[word], outcomes, rejections=False))


def _covers(topic: str, word: str) -> bool:
    """Return whether a topic covers a word or phrase: it contains it, or shares several words with it."""
    known = get_subject(topic).partition(":")[2]
    if known in word or word in known:
        return True
    return len(set(known.split()) & set(word.split())) > 1
