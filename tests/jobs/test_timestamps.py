"""Times as text: moved by seconds, and by months."""

from __future__ import annotations

import pytest

from fabula.core.ids import current_timestamp
from fabula.jobs.timestamps import add_seconds, month_of, next_month_start, seconds_between

NEW_YEARS_EVE = "2026-12-31T23:59:59.999999Z"


def test_times_sort_as_they_follow_on_each_other() -> None:
    start = current_timestamp()
    assert add_seconds(start, -1) < start < add_seconds(start, 0.000001) < add_seconds(start, 90_000)
    assert seconds_between(start, add_seconds(start, 12.5)) == 12.5


@pytest.mark.parametrize(
    ("time", "following"),
    [
        (NEW_YEARS_EVE, "2027-01-01T00:00:00.000000Z"),
        ("2026-01-31T10:00:00.000000Z", "2026-02-01T00:00:00.000000Z"),
        ("2028-02-29T00:00:00.000000Z", "2028-03-01T00:00:00.000000Z"),
        ("2026-03-01T00:00:00.000000Z", "2026-04-01T00:00:00.000000Z"),
    ],
)
def test_the_next_month_begins_at_its_first_moment(time: str, following: str) -> None:
    assert next_month_start(time) == following
    assert month_of(add_seconds(following, -1)) == month_of(time)


def test_what_lies_beyond_all_times_is_the_last_of_them() -> None:
    assert add_seconds(NEW_YEARS_EVE, 1e13) == "9999-12-31T23:59:59.999999Z"
