"""Retrieved things of different kinds share one scale (bud-10)."""

from __future__ import annotations

import pytest

from fabula.core.relevance import (
    DETECTED,
    EPISODE,
    FACT,
    NEEDED,
    PASSAGE,
    PREVIOUSLY_INCLUDED,
    RECAP,
    REQUESTED,
    SYNOPSIS,
    score_in_range,
)


def test_the_table_is_that_of_the_specification() -> None:
    assert REQUESTED == 1.0
    assert DETECTED == (0.8, 0.95)
    assert RECAP == 0.75
    assert SYNOPSIS == (0.6, 0.75)
    assert PASSAGE == (0.3, 0.7)
    assert EPISODE == (0.2, 0.5)


def test_what_is_only_kept_stands_below_everything_that_is_called_for() -> None:
    assert PREVIOUSLY_INCLUDED < SYNOPSIS[0] < DETECTED[0] < REQUESTED
    assert PREVIOUSLY_INCLUDED < NEEDED == DETECTED[0]
    assert FACT[1] < NEEDED


@pytest.mark.parametrize("scale", [DETECTED, SYNOPSIS, PASSAGE, EPISODE, FACT])
def test_nearness_fills_a_range_and_never_leaves_it(scale: tuple[float, float]) -> None:
    low, high = scale
    assert score_in_range(scale, 0.0) == low
    assert score_in_range(scale, 1.0) == pytest.approx(high)
    assert score_in_range(scale, -3.0) == low
    assert score_in_range(scale, 7.0) == pytest.approx(high)
    scores = [score_in_range(scale, step / 10) for step in range(11)]
    assert scores == sorted(scores)
