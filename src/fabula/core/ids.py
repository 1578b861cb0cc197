"""Ids and times: what a thing is called for good, and when it was made."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from uuid import uuid4

_SOUND = re.compile(r"[^\s/\\|\x00-\x1f\x7f]{1,128}")


def moment_of(stamp: str) -> datetime | None:
    """The moment a stamp in ISO 8601 names, in universal time where it says no other; None where it names none."""
    try:
        found = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found


def new_id() -> str:
    """An id that nobody else has."""
    return uuid4().hex[:20]


def sound_id(text: str) -> bool:
    """Could this be an id: short, printable, without spaces, slashes or `|`?"""
    return _SOUND.fullmatch(text) is not None


def now() -> str:
    """This moment, in UTC, as text that sorts by time."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
