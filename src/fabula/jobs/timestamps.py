"""Times as the store writes them: text in UTC that sorts, compared and moved by seconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_FORM = "%Y-%m-%dT%H:%M:%S.%fZ"
_LAST = "9999-12-31T23:59:59.999999Z"


def later(time: str, seconds: float) -> str:
    """So many seconds later, or earlier where they are negative."""
    try:
        return (_read(time) + timedelta(seconds=seconds)).strftime(_FORM)
    except OverflowError:
        return _LAST


def seconds_between(start: str, end: str) -> float:
    """How many seconds lie between two times."""
    return (_read(end) - _read(start)).total_seconds()


def month_of(time: str) -> str:
    """The calendar month in UTC, as in `2026-03`."""
    return time[:7]


def next_month(time: str) -> str:
    """When the next calendar month begins."""
    first = _read(time).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return (first + timedelta(days=32)).replace(day=1).strftime(_FORM)


def _read(time: str) -> datetime:
    return datetime.strptime(time, _FORM).replace(tzinfo=UTC)
