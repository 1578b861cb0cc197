"""The token that a handler looks at."""

from __future__ import annotations

from typing import Any

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.jobs.cancellation import CancellationToken


def test_nobody_is_stopped_who_was_not_asked_to() -> None:
    stop = CancellationToken()
    stop.raise_if_cancelled()
    assert (stop.is_cancelled, stop.reason, stop.wait(0.0), stop.remaining_seconds) == (
        False,
        None,
        False,
        float("inf"),
    )


@pytest.mark.parametrize("why", [Code.JOB_CANCELLED, Code.JOB_STOPPED, Code.JOB_TIMEOUT, Code.JOB_LEASE_LOST])
def test_the_first_reason_stays_and_is_what_checking_raises(why: Code) -> None:
    stop = CancellationToken(0.0)
    stop.cancel(why)
    stop.cancel(Code.JOB_STOPPED)
    assert (stop.is_cancelled, stop.wait(60.0), stop.remaining_seconds) == (True, True, 0.0)
    with pytest.raises(FabulaError) as raised:
        stop.raise_if_cancelled()
    assert raised.value.code is why


@pytest.mark.parametrize("micros", [-1, 1.5, True, "12", None])
def test_money_that_is_none_is_refused(micros: Any) -> None:
    stop = CancellationToken()
    stop.add_cost(40)
    with pytest.raises(FabulaError) as refused:
        stop.add_cost(micros)
    assert refused.value.code is Code.JOB_ANSWER_INVALID
    stop.add_cost(2)
    assert stop.cost_micros == 42
