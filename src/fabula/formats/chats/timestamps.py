"""Read the times of chat files, in all the forms that SillyTavern and the like have written.

Times without a zone are those of the clock on the wall where the chat was written, taken to be the zone of this
machine. What is no time stays as it is.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from fabula.core.ids import parse_timestamp

_MAX_CHARACTERS = 100
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECONDS = 100_000_000_000  # from here on, a number counts milliseconds since 1970, else seconds
_NUMBER = re.compile(r"\d{9,16}")
_WITH_UNITS = re.compile(  # 2023-4-15 @14h 22m 33s 123ms
    r"(\d{4})-(\d{1,2})-(\d{1,2}) ?@ ?(\d{1,2})h ?(\d{1,2})m ?(?:(\d{1,2})s ?)?(?:(\d{1,3})ms)?"
)
_IN_WORDS = re.compile(  # April 26, 2024 6:06am
    r"([A-Za-z]{3,9})\.? (\d{1,2}), (\d{4}),? (\d{1,2}):(\d{2})(?::(\d{2}))? ?([AaPp][Mm])?"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def read_timestamp(value: object) -> str:
    """Return a time of a chat file as the store writes times; a text that is no time, as it is; else nothing."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _show_number(value) or str(value)
    if not isinstance(value, str):
        return ""
    text = " ".join(value.split())
    if len(text) > _MAX_CHARACTERS or not text.isprintable():
        return text[:_MAX_CHARACTERS] if text.isprintable() else ""
    if _NUMBER.fullmatch(text):
        return _show_number(int(text)) or text
    try:
        found = _read_with_units(text) or _read_in_words(text) or parse_timestamp(text)
        return text if found is None else _show(found)
    except (ValueError, OverflowError, OSError):  # no such day, or a year that no clock has
        return text


def _show_number(number: float) -> str:
    try:
        return _show(_EPOCH + timedelta(seconds=number / 1000 if abs(number) >= _MILLISECONDS else number))
    except (ValueError, OverflowError):
        return ""


def _show(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def _read_with_units(text: str) -> datetime | None:
    found = _WITH_UNITS.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, milliseconds = (int(part or 0) for part in found.groups())
    return datetime(year, month, day, hour, minute, second, milliseconds * 1000)


def _read_in_words(text: str) -> datetime | None:
    found = _IN_WORDS.fullmatch(text)
    if found is None or found[1][:3].lower() not in _MONTHS:
        return None
    hour, half = int(found[4]), (found[7] or "").lower()
    if half == "pm" and hour < 12:
        hour += 12
    elif half == "am" and hour == 12:
        hour = 0
    month = _MONTHS.index(found[1][:3].lower()) + 1
    return datetime(int(found[3]), month, int(found[2]), hour, int(found[5]), int(found[6] or 0))
