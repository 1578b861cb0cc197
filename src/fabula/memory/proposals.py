"""Proposals: find the habits of a writer in outcomes, without a model (mem-2).

The votes on a topic are combined into odds: how much better they are explained by "the writer has this habit
and follows it nine times in ten" than by chance. A habit is proposed if at least four outcomes and four in
five support it, and the odds are 1,000 to 1. For single words and phrases the odds must be 20,000 to 1,
because among so many words some will always look like a habit.

`Learner` is the interface for other implementations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from math import log
from typing import Protocol

from msgspec import Struct

from fabula.core.view import Language
from fabula.memory.evidence import (
    MAX_CHANCE,
    MIN_CHANCE,
    AnalysedOutcome,
    Vote,
    analyse_outcome,
    count_mark,
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
_NO_SUBJECTS: Mapping[str, frozenset[str]] = {}
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


class Learner(Protocol):
    """Finds proposals in outcomes."""

    def find_proposals(
        self,
        outcomes: Sequence[SuggestionOutcome],
        language: Language,
        prompted_subjects: Mapping[str, frozenset[str]] = ...,
        known_topics: Collection[str] = ...,
    ) -> list[MemoryProposal]:
        """Return what the outcomes show, and their votes on the known topics.

        `prompted_subjects` are the subjects of the memories in each outcome's prompt, by the outcome's id.
        """
        ...


class HeuristicLearner:
    """A learner that counts punctuation, lengths, persons, tenses and words; it needs no model."""

    def find_proposals(
        self,
        outcomes: Sequence[SuggestionOutcome],
        language: Language,
        prompted_subjects: Mapping[str, frozenset[str]] = _NO_SUBJECTS,
        known_topics: Collection[str] = (),
    ) -> list[MemoryProposal]:
        """Return a proposal for every topic with votes, the best supported first."""
        count = _VoteCount(outcomes, language, prompted_subjects)
        proposals = [count.make_proposal(topic, votes) for topic, votes in _find_votes(count.analysed)]
        proposals += _find_word_proposals(count, frozenset(one.topic for one in proposals if one.is_supported))
        found = {one.topic for one in proposals}
        proposals += [
            count.make_word_proposal(topic)
            for topic in known_topics
            if topic not in found and topic.startswith(_WORD_TOPICS)
        ]
        voted = (one for one in proposals if one.votes_for or (one.votes_against and one.topic in known_topics))
        return sorted(voted, key=lambda one: (-one.votes_for, one.topic))


def find_supporting_outcomes(topic: str, outcomes: Sequence[SuggestionOutcome], language: Language) -> list[str]:
    """Return the ids of the outcomes that support a topic."""
    analysed = _VoteCount(outcomes, language).analysed
    is_word = topic.startswith(_WORD_TOPICS)
    votes = _find_word_votes(topic, analysed) if is_word else dict(_find_votes(analysed)).get(topic, [])
    return [outcomes[vote.outcome_index].id for vote in votes if vote.is_for]


def compute_log_odds(votes: Iterable[Vote]) -> float:
    """Return the logarithm of the odds of a habit against chance."""
    return sum(
        log(HABIT_RATE / vote.chance) if vote.is_for else log((1 - HABIT_RATE) / (1 - vote.chance)) for vote in votes
    )


class _VoteCount:
    """The analysed outcomes, and the proposals that their votes make."""

    def __init__(
        self,
        outcomes: Sequence[SuggestionOutcome],
        language: Language,
        prompted_subjects: Mapping[str, frozenset[str]] = _NO_SUBJECTS,
    ) -> None:
        self._outcomes, self._language = outcomes, language
        self.analysed = [
            analyse_outcome(index, outcome, language, prompted_subjects.get(outcome.id, frozenset()))
            for index, outcome in enumerate(outcomes)
        ]

    def make_word_proposal(self, topic: str) -> MemoryProposal:
        return self.make_proposal(topic, _find_word_votes(topic, self.analysed), MIN_WORD_LOG_ODDS)

    def make_proposal(self, topic: str, votes: Sequence[Vote], min_log_odds: float = MIN_LOG_ODDS) -> MemoryProposal:
        votes_for = [vote for vote in votes if vote.is_for]
        words = get_subject(topic).partition(":")[2]
        evidence = []
        for vote in votes_for[-MAX_QUOTES:]:
            quote = vote.quote or (quote_suggestion(self.analysed[vote.outcome_index], words) if words else "")
            evidence.append(f"{self._outcomes[vote.outcome_index].id}: {quote}".rstrip(": "))
        has_votes = len(votes_for) >= max(MIN_VOTES_FOR, MIN_SHARE_FOR * len(votes))
        return MemoryProposal(
            topic=topic,
            text=format_topic(topic, self._language),
            votes_for=len(votes_for),
            votes_against=len(votes) - len(votes_for),
            last_vote_at=max((self._outcomes[vote.outcome_index].created_at for vote in votes_for), default=""),
            evidence=tuple(evidence),
            is_supported=has_votes and compute_log_odds(votes) >= min_log_odds,
        )


def _find_votes(outcomes: Sequence[AnalysedOutcome]) -> Iterator[tuple[str, list[Vote]]]:
    """Find the votes on every topic except words and phrases."""
    for mark in MARKS:
        count, subject = count_mark(mark), f"mark:{mark}"
        yield f"{subject}={LESS}", list(find_removal_votes(subject, count, outcomes))
        yield f"{subject}={MORE}", list(find_addition_votes(subject, count, outcomes))
    yield f"simile={LESS}", list(find_removal_votes("simile", lambda metrics: metrics.similes, outcomes))
    adverb_votes = list(find_removal_votes("adverb", lambda metrics: len(metrics.adverbs), outcomes))
    removed = {word for vote in adverb_votes if vote.is_for for word in outcomes[vote.outcome_index].before.adverbs}
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


def _find_word_proposals(count: _VoteCount, supported_topics: frozenset[str]) -> list[MemoryProposal]:
    """Find words and phrases that the writer often removes; a phrase only if none of its words is proposed."""
    proposals: list[MemoryProposal] = []
    rewritten = [outcome for outcome in count.analysed if outcome.decision is Decision.REWRITTEN]
    adverbs: set[str] = set()
    if f"adverb={LESS}" in supported_topics:
        adverbs = {word for outcome in count.analysed for word in outcome.before.adverbs}
    for kind, list_counts in _COUNTS.items():
        for word in _find_removed_words(rewritten, list_counts):
            if word in adverbs or any(_covers(one.topic, word) for one in proposals):
                continue
            proposal = count.make_word_proposal(f"{kind}:{word}={LESS}")
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
