"""Ids and timestamps: make them, check them, parse them, show them."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from functools import lru_cache
from time import time_ns

from fabula.core.messages import Sentence, message

_VALID = re.compile(r"[^\s/\\|\x00-\x1f\x7f]{1,128}")


_MADE_TOGETHER = 64  # one call of the system for so many ids
_waiting_ids: list[str] = []
if hasattr(os, "register_at_fork"):  # which Windows has not
    os.register_at_fork(after_in_child=_waiting_ids.clear)


def new_id() -> str:
    """Make a new unique id."""
    try:
        return _waiting_ids.pop()
    except IndexError:
        digits = os.urandom(10 * _MADE_TOGETHER).hex()
        made = [digits[at : at + 20] for at in range(0, len(digits), 20)]
        _waiting_ids.extend(made[1:])
        return made[0]


def is_valid_id(text: str) -> bool:
    """Whether a text can be an id: 1 to 128 printable characters without spaces, slashes or `|`."""
    return _VALID.fullmatch(text) is not None


def current_timestamp() -> str:
    """The current time in UTC, as ISO 8601 text that sorts by time."""
    seconds, nanoseconds = divmod(time_ns(), 1_000_000_000)
    return f"{_format_second(seconds)}.{nanoseconds // 1000:06}Z"


@lru_cache(maxsize=1)  # every change asks for the time more than once
def _format_second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None).isoformat()


def make_timestamp(time: datetime) -> str:
    """Return a time in UTC as ISO 8601 text that sorts by time."""
    return f"{time.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def parse_timestamp(text: str) -> datetime | None:
    """Parse an ISO 8601 timestamp; UTC where it names no zone, None where it is none."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        return None
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed


def read_local_day(timestamp: str) -> tuple[int, int, int] | None:
    """Return year, month and day of a time of the store, as the calendar on the wall shows it; None for no time."""
    time = parse_timestamp(timestamp)
    try:
        if time is None:
            return None
        local = time.astimezone()
        return local.year, local.month, local.day
    except (OverflowError, OSError, ValueError):  # at the edge of the calendar
        return None


def format_time(timestamp: str) -> Sentence | str:
    """Return a time of the store as the clock on the wall shows it, with its zone; what is no time as it is."""
    time = parse_timestamp(timestamp)
    if time is None:
        return timestamp
    local = time.astimezone()
    zone = local.strftime("%Z")
    return message(
        "{year}-{month:02}-{day:02} {time} {zone}",
        year=local.year,
        month=local.month,
        day=local.day,
        time=local.strftime("%H:%M"),
        zone=zone if zone.isalpha() else f"UTC{zone}",
    )
