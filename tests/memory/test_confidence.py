"""Confidence is bounded, rises with evidence, decays with time, and depends only on its arguments."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fabula.memory.confidence import (
    HALF_LIFE_DAYS,
    MAX_LEARNED_CONFIDENCE,
    MIN_CONFIDENCE,
    STATED_CONFIDENCE,
    apply_decay,
    compute_confidence,
    compute_strength,
    count_days,
)
from fabula.memory.model import MemoryItem, MemoryOrigin, MemoryState

counts = st.integers(0, 10_000)
days = st.floats(0, 100_000, allow_nan=False)


@given(counts, counts, days, st.booleans())
def test_it_stays_between_nothing_and_the_cap(agreeing: int, against: int, passed: float, confirmed: bool) -> None:
    value = apply_decay(compute_strength(agreeing, against, confirmed=confirmed), passed, confirmed=confirmed)
    assert 0 <= value <= MAX_LEARNED_CONFIDENCE < STATED_CONFIDENCE


@given(counts, counts, st.booleans())
def test_every_outcome_for_it_raises_it_and_every_one_against_lowers_it(
    agreeing: int, against: int, confirmed: bool
) -> None:
    here = compute_strength(agreeing, against, confirmed=confirmed)
    assert compute_strength(agreeing + 1, against, confirmed=confirmed) > here
    assert compute_strength(agreeing, against + 1, confirmed=confirmed) <= here
    assert compute_strength(agreeing, against, confirmed=True) >= here


@given(counts, counts, days, days, st.booleans())
def test_it_fades_and_never_comes_back_by_itself(
    agreeing: int, against: int, passed: float, more: float, confirmed: bool
) -> None:
    value = compute_strength(agreeing, against, confirmed=confirmed)
    assert apply_decay(value, passed + more, confirmed=confirmed) <= apply_decay(value, passed, confirmed=confirmed)
    assert apply_decay(value, passed, confirmed=True) >= apply_decay(value, passed)


def test_half_of_it_is_left_after_a_half_life_and_a_yes_fades_slower() -> None:
    assert apply_decay(0.8, HALF_LIFE_DAYS) == 0.4
    assert apply_decay(0.8, 4 * HALF_LIFE_DAYS, confirmed=True) == 0.4


@given(st.floats(0, 1), counts, counts, st.dates().map(str))
def test_what_was_said_does_not_fade(sure: float, agreeing: int, against: int, today: str) -> None:
    said = MemoryItem(text="x", confidence=sure, votes_for=agreeing, votes_against=against, last_vote_at="1999-01-01")
    assert compute_confidence(said, today) == sure


def test_what_was_learnt_is_as_sure_as_its_evidence_of_that_day() -> None:
    learnt = MemoryItem(
        text="x",
        origin=MemoryOrigin.LEARNED,
        state=MemoryState.PROPOSED,
        votes_for=5,
        last_vote_at="2026-01-01T10:00:00Z",
    )
    assert compute_confidence(learnt, "2026-01-01T23:00:00Z") == round(compute_strength(5, 0), 4)
    assert compute_confidence(learnt, "2026-06-30") == round(compute_strength(5, 0) / 2, 4)
    assert compute_confidence(learnt, "2030-01-01") < MIN_CONFIDENCE


def test_a_date_that_is_none_counts_as_today() -> None:
    assert count_days("", "2026-01-02") == count_days("2026-01-02", "soon") == 0
    assert count_days("2026-01-03", "2026-01-02") == 0
    assert count_days("2026-01-01T23:59:59Z", "2026-01-03T00:00:00Z") == 2
