"""How sure we are: bounded, growing with evidence, fading with time, and the same on every day it is asked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fabula.memory.confidence import CAP, HALF_LIFE, RESTS, SURE, confidence, days_between, faded, strength
from fabula.memory.model import Origin, Remembered, State

counts = st.integers(0, 10_000)
days = st.floats(0, 100_000, allow_nan=False)


@given(counts, counts, days, st.booleans())
def test_it_stays_between_nothing_and_the_cap(agreeing: int, against: int, passed: float, confirmed: bool) -> None:
    value = faded(strength(agreeing, against, confirmed=confirmed), passed, confirmed=confirmed)
    assert 0 <= value <= CAP < SURE


@given(counts, counts, st.booleans())
def test_every_outcome_for_it_raises_it_and_every_one_against_lowers_it(
    agreeing: int, against: int, confirmed: bool
) -> None:
    here = strength(agreeing, against, confirmed=confirmed)
    assert strength(agreeing + 1, against, confirmed=confirmed) > here
    assert strength(agreeing, against + 1, confirmed=confirmed) <= here
    assert strength(agreeing, against, confirmed=True) >= here


@given(counts, counts, days, days, st.booleans())
def test_it_fades_and_never_comes_back_by_itself(
    agreeing: int, against: int, passed: float, more: float, confirmed: bool
) -> None:
    value = strength(agreeing, against, confirmed=confirmed)
    assert faded(value, passed + more, confirmed=confirmed) <= faded(value, passed, confirmed=confirmed)
    assert faded(value, passed, confirmed=True) >= faded(value, passed)


def test_half_of_it_is_left_after_a_half_life_and_a_yes_fades_slower() -> None:
    assert faded(0.8, HALF_LIFE) == 0.4
    assert faded(0.8, 4 * HALF_LIFE, confirmed=True) == 0.4


@given(st.floats(0, 1), counts, counts, st.dates().map(str))
def test_what_was_said_does_not_fade(sure: float, agreeing: int, against: int, today: str) -> None:
    said = Remembered(text="x", confidence=sure, agreeing=agreeing, against=against, seen="1999-01-01")
    assert confidence(said, today) == sure


def test_what_was_learnt_is_as_sure_as_its_evidence_of_that_day() -> None:
    learnt = Remembered(text="x", origin=Origin.LEARNED, state=State.PROPOSED, agreeing=5, seen="2026-01-01T10:00:00Z")
    assert confidence(learnt, "2026-01-01T23:00:00Z") == round(strength(5, 0), 4)
    assert confidence(learnt, "2026-06-30") == round(strength(5, 0) / 2, 4)
    assert confidence(learnt, "2030-01-01") < RESTS


def test_a_date_that_is_none_counts_as_today() -> None:
    assert days_between("", "2026-01-02") == days_between("2026-01-02", "soon") == 0
    assert days_between("2026-01-03", "2026-01-02") == 0
    assert days_between("2026-01-01T23:59:59Z", "2026-01-03T00:00:00Z") == 2
