"""Evidence: votes of outcomes for or against the habits that a writer may have (mem-2).

A writer who removes every exclamation mark from a suggestion gives a vote for "avoid exclamation marks". One
who accepts a text full of them gives a vote against it. The weight of a vote depends on `chance`: how likely any
change of the same size would have had the same effect. Deleting half of a text deletes half of everything
in it. If a memory about the same subject was in the prompt, the model only followed it, so only what the writer
changed counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import exp

from msgspec import Struct

from fabula.core.view import Language
from fabula.memory.model import Decision, SuggestionOutcome
from fabula.memory.style_metrics import StyleMetrics, compute_mean
from fabula.memory.topics import LESS, MARKS, MORE

LENGTH_CHANGE = 0.8  # a length has changed if the shorter one is at most this share of the longer one
DIALOGUE_CHANGE = 0.15  # the share of dialogue has changed if it differs by this much
MIN_DIALOGUE_WORDS = 30
MIN_CHANCE, MAX_CHANCE = 0.15, 0.9  # limits for the weight of a single vote
MIN_REJECTION_CHANCE = 0.3  # a text may be rejected for many reasons, so a rejection weighs less
MIN_COMPARED = 5  # texts without a feature that are needed to judge rejections of texts with it
QUOTE_CHARS = 60

_OTHER_DIRECTION = {LESS: MORE, MORE: LESS, "first": "third", "third": "first", "past": "present", "present": "past"}

CountFeature = Callable[[StyleMetrics], int]


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


def find_removal_votes(
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


def find_addition_votes(subject: str, count: CountFeature, outcomes: Sequence[AnalysedOutcome]) -> Iterator[Vote]:
    """Find votes for more of a feature: at least two were added, and the number at least doubled."""
    for outcome in outcomes:
        before, after = count(outcome.before), count(outcome.after)
        if outcome.decision is Decision.REWRITTEN and after >= max(before + 2, 2 * before):
            words = max(len(outcome.before.tokens), 1)
            yield Vote(outcome, True, _clamp(outcome.added_words / words, MIN_CHANCE, 0.5))
        elif outcome.decision is not Decision.REJECTED and subject not in outcome.prompted_subjects:
            yield Vote(outcome, False, MIN_CHANCE)


def find_length_votes(
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


def find_dialogue_votes(outcomes: Sequence[AnalysedOutcome]) -> Iterator[tuple[str, Vote]]:
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


def find_choice_votes(
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


def quote_suggestion(outcome: AnalysedOutcome, words: str) -> str:
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
