"""Proposals: find the habits of a writer in outcomes, without a model (mem-2).

Outcomes vote for or against the habits that a writer may have. A writer who removes every exclamation mark from a
suggestion gives a vote for "avoid exclamation marks". One who accepts a text full of them gives a vote against it. The
weight of a vote depends on `chance`: how likely any change of the same size would have had the same effect. Deleting
half of a text deletes half of everything in it. If a memory about the same subject was in the prompt, the model only
followed it, so only what the writer changed counts.

The votes on a topic are combined into odds: how much better they are explained by "the writer has this habit
and follows it nine times in ten" than by chance. A habit is proposed if at least four outcomes and four in
five support it, and the odds are 1,000 to 1. For single words and phrases the odds must be 20,000 to 1,
because among so many words some will always look like a habit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import exp, log

from msgspec import Struct

from fabula.core.view import Language
from fabula.memory.model import Decision, SuggestionOutcome
from fabula.memory.style_metrics import StyleMetrics, compute_mean
from fabula.memory.topics import LESS, MARKS, MORE, format_topic, get_subject

HABIT_RATE = 0.9  # how often a writer follows a habit
MIN_VOTES_FOR = 4
MIN_SHARE_FOR = 0.8  # of all votes
MIN_LOG_ODDS, MIN_WORD_LOG_ODDS = log(1_000), log(20_000)
MAX_QUOTES = 8  # the newest, kept as evidence
MIN_ADVERBS = 3  # different adverbs that must have been removed before adverbs as such are meant
LENGTH_CHANGE = 0.8  # a length has changed if the shorter one is at most this share of the longer one
DIALOGUE_CHANGE = 0.15  # the share of dialogue has changed if it differs by this much
MIN_DIALOGUE_WORDS = 30
MIN_CHANCE, MAX_CHANCE = 0.15, 0.9  # limits for the weight of a single vote
MIN_REJECTION_CHANCE = 0.3  # a text may be rejected for many reasons, so a rejection weighs less
MIN_COMPARED = 5  # texts without a feature that are needed to judge rejections of texts with it
QUOTE_CHARS = 60

_OTHER_DIRECTION = {LESS: MORE, MORE: LESS, "first": "third", "third": "first", "past": "present", "present": "past"}

CountFeature = Callable[[StyleMetrics], int]
_WORD_TOPICS = ("word:", "phrase:")
_COUNTS: Mapping[str, Callable[[StyleMetrics], Counter[str]]] = {
    "word": lambda metrics: metrics.words,
    "phrase": lambda metrics: metrics.phrases,
}


class AnalysedOutcome(Struct, frozen=True):
    """An outcome with the metrics of the suggestion and of the final text, and the size of the change."""

    outcome: SuggestionOutcome
    before: StyleMetrics
    after: StyleMetrics
    removed_share: float  # share of the suggestion's words that were removed
    added_words: int
    prompted_subjects: frozenset[str]  # the subjects of memories in the prompt

    @property
    def decision(self) -> Decision:
        """What the writer did with the suggestion."""
        return self.outcome.decision


class Vote(Struct, frozen=True):
    """The vote of one outcome for or against a topic."""

    outcome: AnalysedOutcome
    is_for: bool
    chance: float
    quote: str = ""


def analyse_outcome(
    outcome: SuggestionOutcome, language: Language, prompted_subjects: frozenset[str]
) -> AnalysedOutcome:
    """Compute the metrics of an outcome."""
    before = StyleMetrics(outcome.suggestion, language)
    if outcome.decision is not Decision.REWRITTEN:
        return AnalysedOutcome(outcome, before, before, 0.0, 0, prompted_subjects)
    after = StyleMetrics(outcome.rewritten_text, language)
    old_pairs, new_pairs = before.count_word_pairs(), after.count_word_pairs()
    common = (old_pairs & new_pairs).total()
    removed_share, added_words = 1 - common / old_pairs.total(), max(new_pairs.total() - common, 0)
    return AnalysedOutcome(outcome, before, after, removed_share, added_words, prompted_subjects)


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
        quote = vote.quote or (_quote_suggestion(vote.outcome, words) if words else "")
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
        yield f"{subject}={LESS}", list(_find_removal_votes(subject, count, outcomes))
        yield f"{subject}={MORE}", list(_find_addition_votes(subject, count, outcomes))
    yield f"simile={LESS}", list(_find_removal_votes("simile", lambda metrics: metrics.similes, outcomes))
    adverb_votes = list(_find_removal_votes("adverb", lambda metrics: len(metrics.adverbs), outcomes))
    removed = {word for vote in adverb_votes if vote.is_for for word in vote.outcome.before.adverbs}
    if len(removed) >= MIN_ADVERBS:
        yield f"adverb={LESS}", adverb_votes
    by_topic: dict[str, list[Vote]] = {}
    for subject, votes in (
        ("sentence", _find_length_votes("sentence", lambda metrics: metrics.sentence_lengths, 3, outcomes)),
        ("paragraph", _find_length_votes("paragraph", lambda metrics: metrics.paragraph_lengths, 2, outcomes)),
        ("dialogue", _find_dialogue_votes(outcomes)),
        ("person", _find_choice_votes("person", lambda metrics: metrics.person, outcomes)),
        ("tense", _find_choice_votes("tense", lambda metrics: metrics.tense, outcomes)),
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
    return list(_find_removal_votes(subject, lambda metrics: list_counts(metrics)[word], outcomes, rejections=False))


def _covers(topic: str, word: str) -> bool:
    """Return whether a topic covers a word or phrase: it contains it, or shares several words with it."""
    known = get_subject(topic).partition(":")[2]
    if known in word or word in known:
        return True
    return len(set(known.split()) & set(word.split())) > 1


def _find_removal_votes(
    subject: str, count: CountFeature, outcomes: Sequence[AnalysedOutcome], *, rejections: bool = True
) -> Iterator[Vote]:
    """Find votes for avoiding a feature: a punctuation mark, a word, similes."""
    rejection_chance = _estimate_rejection_chance(count, outcomes) if rejections else None
    total_words = sum(len(outcome.before.tokens) for outcome in outcomes)
    frequency = sum(count(outcome.before) for outcome in outcomes) / max(total_words, 1)
    for outcome in outcomes:
        before = count(outcome.before)
        if not before:
            continue
        if outcome.decision is Decision.REWRITTEN:
            after = count(outcome.after)
            if 0 < after < before or (after == before and subject in outcome.prompted_subjects):
                continue  # some were removed and some were kept; or the memory asked for it and the writer kept it
            yield Vote(outcome, not after, _estimate_removal_chance(outcome, before, frequency))
        elif subject not in outcome.prompted_subjects:
            if outcome.decision is Decision.ACCEPTED:
                yield Vote(outcome, False, MIN_CHANCE)
            elif rejection_chance is not None:
                yield Vote(outcome, True, rejection_chance)


def _find_addition_votes(subject: str, count: CountFeature, outcomes: Sequence[AnalysedOutcome]) -> Iterator[Vote]:
    """Find votes for more of a feature: at least two were added, and the number at least doubled."""
    for outcome in outcomes:
        before, after = count(outcome.before), count(outcome.after)
        if outcome.decision is Decision.REWRITTEN and after >= max(before + 2, 2 * before):
            words = max(len(outcome.before.tokens), 1)
            yield Vote(outcome, True, _clamp(outcome.added_words / words, MIN_CHANCE, 0.5))
        elif outcome.decision is not Decision.REJECTED and subject not in outcome.prompted_subjects:
            yield Vote(outcome, False, MIN_CHANCE)


def _find_length_votes(
    subject: str,
    list_lengths: Callable[[StyleMetrics], tuple[int, ...]],
    min_count: int,
    outcomes: Sequence[AnalysedOutcome],
) -> Iterator[tuple[str, Vote]]:
    """Find votes for shorter or longer sentences or paragraphs, each with its direction."""
    changed_lengths: dict[str, list[float]] = {LESS: [], MORE: []}
    unchanged: list[tuple[AnalysedOutcome, float]] = []
    for outcome in outcomes:
        old_lengths, new_lengths = list_lengths(outcome.before), list_lengths(outcome.after)
        if outcome.decision is Decision.REJECTED or min(len(old_lengths), len(new_lengths)) < min_count:
            continue
        before, after = compute_mean(old_lengths), compute_mean(new_lengths)
        # Added or removed sentences alone make a paragraph longer or shorter; that does not count.
        growth = sum(new_lengths) / sum(old_lengths) if subject == "paragraph" else 1.0
        if after <= LENGTH_CHANGE * before * min(growth, 1.0):
            direction = LESS
        elif before * max(growth, 1.0) <= LENGTH_CHANGE * after:
            direction = MORE
        else:
            unchanged.append((outcome, before))
            continue
        changed_lengths[direction].append(before)
        quote = f"{before:.0f} → {after:.0f}"
        yield from _vote_for_direction(outcome, direction, _estimate_change_chance(outcome), quote)
    for outcome, before in unchanged:
        # An unchanged length is a vote against a direction only if the writer changed texts of such a length.
        for direction, sign in ((LESS, 1), (MORE, -1)):
            lengths = changed_lengths[direction]
            if not lengths or subject in outcome.prompted_subjects:
                continue
            if sign * before >= sign * (sum(lengths) / len(lengths)):
                yield direction, Vote(outcome, False, MIN_CHANCE)


def _find_dialogue_votes(outcomes: Sequence[AnalysedOutcome]) -> Iterator[tuple[str, Vote]]:
    """Find votes for more or less dialogue, each with its direction."""
    for outcome in outcomes:
        if outcome.decision is Decision.REJECTED or len(outcome.before.tokens) < MIN_DIALOGUE_WORDS:
            continue
        before, after = outcome.before.dialogue_share, outcome.after.dialogue_share
        if abs(after - before) >= DIALOGUE_CHANGE:
            direction = MORE if after > before else LESS
            quote = f"{before:.0%} → {after:.0%}"
            yield from _vote_for_direction(outcome, direction, _estimate_change_chance(outcome), quote)
        elif "dialogue" not in outcome.prompted_subjects:
            if before >= DIALOGUE_CHANGE:
                yield LESS, Vote(outcome, False, MIN_CHANCE)
            if before <= 1 - DIALOGUE_CHANGE:
                yield MORE, Vote(outcome, False, MIN_CHANCE)


def _find_choice_votes(
    subject: str, get_choice: Callable[[StyleMetrics], str], outcomes: Sequence[AnalysedOutcome]
) -> Iterator[tuple[str, Vote]]:
    """Find votes for a narrative person or a tense, each with its direction."""
    for outcome in outcomes:
        before, after = get_choice(outcome.before), get_choice(outcome.after)
        if outcome.decision is Decision.REJECTED or not before or not after:
            continue
        if before != after:
            yield from _vote_for_direction(outcome, after, 2 * MIN_CHANCE, f"{before} → {after}")
        elif subject not in outcome.prompted_subjects:
            yield _OTHER_DIRECTION[before], Vote(outcome, False, MIN_CHANCE)


def _quote_suggestion(outcome: AnalysedOutcome, words: str) -> str:
    """Quote the first sentence of the suggestion with these words, shortened."""
    for needle in MARKS.get(words, (words,)):
        sentence = outcome.before.find_sentence(needle)
        if sentence:
            return sentence if len(sentence) <= QUOTE_CHARS else sentence[: QUOTE_CHARS - 1] + "…"
    return ""


def _vote_for_direction(
    outcome: AnalysedOutcome, direction: str, chance: float, quote: str
) -> Iterator[tuple[str, Vote]]:
    """Vote for a direction and against the other one."""
    yield direction, Vote(outcome, True, chance, quote)
    yield _OTHER_DIRECTION[direction], Vote(outcome, False, chance)


def _estimate_rejection_chance(count: CountFeature, outcomes: Sequence[AnalysedOutcome]) -> float | None:
    """Estimate how often texts without the feature are rejected; None if there are too few."""
    without = [outcome for outcome in outcomes if not count(outcome.before)]
    if len(without) < MIN_COMPARED:
        return None
    rejected = sum(outcome.decision is Decision.REJECTED for outcome in without)
    return _clamp((rejected + 1) / (len(without) + 2), MIN_REJECTION_CHANCE, MAX_CHANCE)


def _estimate_removal_chance(outcome: AnalysedOutcome, before: int, frequency: float) -> float:
    """Estimate how likely a change of this size removes all occurrences and adds no new one.

    `frequency` is how often the feature occurs per word. Features occur in clusters, so they are absent more
    often than the frequency says; hence the half.
    """
    chance = outcome.removed_share**before * exp(-frequency * outcome.added_words / 2)
    return _clamp(chance, MIN_CHANCE, MAX_CHANCE)


def _estimate_change_chance(outcome: AnalysedOutcome) -> float:
    return _clamp(outcome.removed_share / 2, MIN_CHANCE, 0.5)


def _clamp(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)
