"""Find dates in time stamps and questions, so that "in May" finds what was said in May.

A day is a number, as in `date.toordinal`. A question may leave parts of a date open ("on 5 May", "in 2023"), or count
from the date of the request ("last summer", "three weeks ago", 前天).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path

import msgspec
from msgspec import Struct


class _DateWords(Struct, frozen=True):
    """The words of `dates.json`, in both languages."""

    months: list[str]  # names of each month, with spaces between them
    weekdays: list[str]
    seasons: dict[str, int]  # the month in which each begins
    numbers: dict[str, int]
    unit_days: dict[str, int]
    day_words: dict[str, int]  # days from today
    steps: dict[str, int]  # periods from the present one
    periods: dict[str, str]  # English names


_WORDS = msgspec.json.decode(Path(__file__).with_name("dates.json").read_bytes(), type=_DateWords)
_MONTHS = {name: number for number, names in enumerate(_WORDS.months, 1) for name in names.split()}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_YEAR = r"(?:1[5-9]|20)\d\d"
_HAN = "零一二三四五六七八九十"
_SEASON_DAYS = 92

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
    r"\b(?P<w>last|this|next) "
    rf"(?P<u>week|weekend|month|year|{'|'.join(_WORDS.weekdays)}|spring|summer|autumn|fall|winter)\b",
    re.IGNORECASE,
)
_LAST_ZH = re.compile(r"(?P<w>上个?|这个?|本|下个?|去|今|明)(?P<u>周末?|星期|月|年)(?P<s>[春夏秋冬])?")
_DAY_WORD = re.compile("|".join(_WORDS.day_words), re.IGNORECASE)


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
    is_han = bool(text) and all(character in _HAN for character in text)
    return _WORDS.numbers.get(text) or (sum(map(_HAN.index, text)) if is_han else 0)


def _find_relative(text: str, now: date) -> Iterator[DateReference]:
    for match in _DAY_WORD.finditer(text):
        yield _make_span(now + timedelta(days=_WORDS.day_words[match[0].lower()]), 1)
    for match in (*_AGO.finditer(text), *_AGO_ZH.finditer(text)):
        days = _WORDS.unit_days[match["u"].lower()]
        yield _make_span(now - timedelta(days=days * _parse_number(match["n"].lower()) + days // 2), days)
    for match in (*_LAST.finditer(text), *_LAST_ZH.finditer(text)):
        step, unit, season = _WORDS.steps[match["w"].lower()], match["u"].lower(), match.groupdict().get("s")
        if season:
            yield _make_span(date(now.year + step, _WORDS.seasons[season], 1), _SEASON_DAYS)
        else:
            yield _make_period(_WORDS.periods.get(unit, unit), step, now)


def _make_period(unit: str, step: int, now: date) -> DateReference:
    """All days of last week, this summer, next Monday and the like."""
    monday = now - timedelta(days=now.weekday()) + timedelta(days=7 * step)
    if unit == "week":
        return _make_span(monday, 7)
    if unit == "weekend":
        return _make_span(monday + timedelta(days=5), 2)
    if unit == "month":
        months = now.year * 12 + now.month - 1 + step
        return DateReference(months // 12, months % 12 + 1)
    if unit == "year":
        return DateReference(now.year + step)
    if unit in _WORDS.weekdays:
        return _make_span(monday + timedelta(days=_WORDS.weekdays.index(unit)), 1)
    month = _WORDS.seasons[unit]
    has_ended = now >= date(now.year, month, 1) + timedelta(days=_SEASON_DAYS)
    return _make_span(date(now.year + step + (step < 0 and has_ended), month, 1), _SEASON_DAYS)


def _make_span(first: date, days: int) -> DateReference:
    return DateReference(first_day=first.toordinal(), last_day=first.toordinal() + days - 1)
