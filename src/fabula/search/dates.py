"""Find dates in time stamps and questions, so that "in May" finds what was said in May.

A day is a number, as in `date.toordinal`. A question may leave parts of a date open ("on 5 May", "in 2023"), or count
from the date of the request ("last summer", "three weeks ago", 前天).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, timedelta

from msgspec import Struct

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            *("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug"),
            *("september sep sept", "october oct", "november nov", "december dec"),
        ),
        1,
    )
    for name in names.split()
}
_DAYS = {
    name: number
    for number, name in enumerate(("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"))
}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12, "春": 3, "夏": 6, "秋": 9, "冬": 12}
_NUMBERS = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "couple of": 2,
    "three": 3,
    "few": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "两": 2,
}
_UNITS = {
    "day": 1,
    "week": 7,
    "month": 30,
    "year": 365,
    "天": 1,
    "周": 7,
    "星期": 7,
    "个星期": 7,
    "个月": 30,
    "年": 365,
}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_YEAR = r"(?:1[5-9]|20)\d\d"
_HAN = "零一二三四五六七八九十"

_ISO = re.compile(rf"(?P<y>{_YEAR})[-/.](?P<m>\d\d?)(?:[-/.](?P<d>\d\d?))?")
_DAY_FIRST = re.compile(
    rf"\b(?P<d>\d\d?)(?:st|nd|rd|th)?(?: of)? (?P<m>{_MONTH})\b\.?(?:,? (?P<y>{_YEAR}))?", re.IGNORECASE
)
_MONTH_FIRST = re.compile(
    rf"\b(?P<m>{_MONTH})\b\.? (?P<d>\d\d?)(?:st|nd|rd|th)?\b(?:,? (?P<y>{_YEAR}))?", re.IGNORECASE
)
_MONTH_ONLY = re.compile(rf"\b(?P<m>{_MONTH})\b\.?(?:,? (?:of )?(?P<y>{_YEAR}))?", re.IGNORECASE)
_YEAR_ONLY = re.compile(rf"(?<![\d-])(?P<y>{_YEAR})(?![\d-])")
_CHINESE = re.compile(rf"(?:(?P<y>{_YEAR})年)?(?P<m>\d\d?|十?[一二三四五六七八九十])月(?:(?P<d>\d\d?)[日号])?")
_AGO = re.compile(
    r"\b(?P<n>\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|few|couple of) "
    r"(?P<u>day|week|month|year)s? (?:ago|before|earlier)\b",
    re.IGNORECASE,
)
_AGO_ZH = re.compile(r"(?P<n>\d{1,3}|[一两二三四五六七八九十])(?P<u>天|周|个?星期|个月|年)(?:以?前|之前)")
_LAST = re.compile(
    rf"\b(?P<w>last|this|next) (?P<u>week|weekend|month|year|{'|'.join(_DAYS)}|spring|summer|autumn|fall|winter)\b",
    re.IGNORECASE,
)
_LAST_ZH = re.compile(r"(?P<w>上个?|这个?|本|下个?|去|今|明)(?P<u>周末?|星期|月|年)(?P<s>[春夏秋冬])?")
_DAY_WORDS = {
    "the day before yesterday": -2,
    "the day before": -1,
    "yesterday": -1,
    "last night": -1,
    "today": 0,
    "tonight": 0,
    "tomorrow": 1,
    "前天": -2,
    "昨天": -1,
    "昨晚": -1,
    "今天": 0,
    "明天": 1,
}
_DAY_WORD = re.compile("|".join(_DAY_WORDS), re.IGNORECASE)


class DateReference(Struct, frozen=True):
    """A date in a question: parts of a date with others left open, or all days from one to another."""

    year: int = 0
    month: int = 0
    day: int = 0
    first_day: int = 0  # as numbers, where it is a span of days
    last_day: int = 0


def parse_day(stamp: str) -> int:
    """The day in a time stamp as a number; 0 where there is none."""
    for pattern in (_ISO, _DAY_FIRST, _MONTH_FIRST, _CHINESE):
        for match in pattern.finditer(stamp[:80]):
            found = _read_parts(match)
            if found is not None and found.year and found.day:
                return date(found.year, found.month, found.day).toordinal()
    return 0


def find_date_references(text: str, now: str = "") -> list[DateReference]:
    """The dates in a question; `now` is the date of the request, from which relative dates count."""
    references: list[DateReference] = []
    remaining = text
    for pattern in (_ISO, _DAY_FIRST, _MONTH_FIRST, _MONTH_ONLY, _CHINESE, _YEAR_ONLY):
        for match in pattern.finditer(remaining):
            reference = _read_parts(match)
            if reference is not None:
                references.append(reference)
                remaining = remaining[: match.start()] + " " * len(match[0]) + remaining[match.end() :]
    today = parse_day(now)
    if today:
        with suppress(OverflowError):  # a day before the first year
            references.extend(_find_relative(remaining, date.fromordinal(today)))
    return references


def _read_parts(match: re.Match[str]) -> DateReference | None:
    """The parts of a date, if there can be such a day."""
    parts = match.groupdict()
    month = parts.get("m") or ""
    if month in ("may", "march", "mar", "jan", "sept", "dec"):  # ordinary words in lower case
        return None
    number = _MONTHS.get(month.lower()) or _parse_number(month)
    year, day = int(parts.get("y") or 0), int(parts.get("d") or 0)
    try:
        date(year or 2000, number or 1, day or 1)
    except ValueError:
        return None
    return DateReference(year, number, day)


def _parse_number(text: str) -> int:
    if text.isdecimal():
        return int(text)
    if text in _NUMBERS:
        return _NUMBERS[text]
    return (
        sum(_HAN.index(character) for character in text) if text and all(character in _HAN for character in text) else 0
    )


def _find_relative(text: str, now: date) -> Iterator[DateReference]:
    for match in _DAY_WORD.finditer(text):
        yield _make_span(now + timedelta(days=_DAY_WORDS[match[0].lower()]), 1)
    for match in (*_AGO.finditer(text), *_AGO_ZH.finditer(text)):
        days = _UNITS[match["u"].lower()]
        yield _make_span(now - timedelta(days=days * _parse_number(match["n"].lower()) + days // 2), days)
    for match in _LAST.finditer(text):
        yield _make_period(match["u"].lower(), {"last": -1, "this": 0, "next": 1}[match["w"].lower()], now)
    for match in _LAST_ZH.finditer(text):
        step = -1 if match["w"][0] in "上去" else 1 if match["w"][0] in "下明" else 0
        unit = {"周": "week", "周末": "weekend", "星期": "week", "月": "month", "年": "year"}[match["u"]]
        if match["s"]:
            yield _make_season(_SEASONS[match["s"]], now.year + step)
        else:
            yield _make_period(unit, step, now)


def _make_period(unit: str, step: int, now: date) -> DateReference:
    """All days of last week, this summer, next Monday and the like."""
    monday = now - timedelta(days=now.weekday())
    if unit == "week":
        return _make_span(monday + timedelta(days=7 * step), 7)
    if unit == "weekend":
        return _make_span(monday + timedelta(days=7 * step + 5), 2)
    if unit == "month":
        months = now.year * 12 + now.month - 1 + step
        return DateReference(months // 12, months % 12 + 1)
    if unit == "year":
        return DateReference(now.year + step)
    if unit in _DAYS:
        return _make_span(monday + timedelta(days=_DAYS[unit] + (7 * step if step else 0)), 1)
    month = _SEASONS[unit]
    has_ended = now >= date(now.year, month, 1) + timedelta(days=92)
    return _make_season(month, now.year + (step if not has_ended else step + 1) if step < 0 else now.year + step)


def _make_season(month: int, year: int) -> DateReference:
    return _make_span(date(year, month, 1), 92)


def _make_span(first: date, days: int) -> DateReference:
    return DateReference(first_day=first.toordinal(), last_day=first.toordinal() + days - 1)
