"""Timestamps as the store writes them: UTC as text that sorts by time."""

from __future__ import annotations

from datetime import datetime, timedelta

from fabula.core.ids import make_timestamp

_LAST = "9999-12-31T23:59:59.999999Z"


def add_seconds(time: str, seconds: float) -> str:
    """The timestamp a number of seconds later, or earlier where it is negative."""
    try:
        return make_timestamp(_parse(time) + timedelta(seconds=seconds))
    except OverflowError:
        return _LAST


def seconds_between(start: str, end: str) -> float:
    """The number of seconds between two timestamps."""
    return (_parse(end) - _parse(start)).total_seconds()


def month_of(time: str) -> str:
    """The calendar month in UTC, as in `2026-03`."""
    return time[:7]


def next_month_start(time: str) -> str:
    """The start of the next calendar month."""
    first = _parse(time).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return make_timestamp((first + timedelta(days=32)).replace(day=1))


def _parse(time: str) -> datetime:
    return datetime.fromisoformat(time)
