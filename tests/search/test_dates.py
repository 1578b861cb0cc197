"""Times as questions name them."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.search.dates import DateReference, find_date_references, parse_day

NOW = "2023-10-11"  # a Wednesday


@pytest.mark.parametrize(
    "stamp",
    [
        "2023-05-08",
        "2023-05-08T13:56:00Z",
        "1:56 pm on 8 May, 2023",
        "May 8, 2023",
        "8th of May 2023",
        "2023年5月8日",
        "2023/5/8",
    ],
)
def test_a_stamp_names_its_day(stamp: str) -> None:
    assert parse_day(stamp) == date(2023, 5, 8).toordinal()


@pytest.mark.parametrize("stamp", ["", "noon", "May 2023", "2023-02-31", "31 April 2023", "scene 12", "99999"])
def test_what_names_no_day_has_none(stamp: str) -> None:
    assert parse_day(stamp) == 0


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("in June", DateReference(month=6)),
        ("in May 2023", DateReference(2023, 5)),
        ("on 5 July", DateReference(month=7, day=5)),
        ("back in 2021", DateReference(2021)),
        ("2022年12月", DateReference(2022, 12)),
        ("十二月", DateReference(month=12)),
    ],
)
def test_a_question_may_leave_parts_of_a_date_open(text: str, when: DateReference) -> None:
    assert find_date_references(text) == [when]


@pytest.mark.parametrize("text", ["What may happen?", "They march on.", "it took 1200 men", "room 5", ""])
def test_words_that_only_look_like_times_are_none(text: str) -> None:
    assert find_date_references(text, NOW) == []


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("yesterday", date(2023, 10, 10), date(2023, 10, 10)),
        ("the day before", date(2023, 10, 10), date(2023, 10, 10)),
        ("前天", date(2023, 10, 9), date(2023, 10, 9)),
        ("last week", date(2023, 10, 2), date(2023, 10, 8)),
        ("上周", date(2023, 10, 2), date(2023, 10, 8)),
        ("last summer", date(2023, 6, 1), date(2023, 8, 31)),
        ("去年夏天", date(2022, 6, 1), date(2022, 8, 31)),
        ("last winter", date(2022, 12, 1), date(2023, 3, 2)),
        ("last Monday", date(2023, 10, 2), date(2023, 10, 2)),
        ("three days ago", date(2023, 10, 8), date(2023, 10, 8)),
        ("两天前", date(2023, 10, 9), date(2023, 10, 9)),
    ],
)
def test_times_are_counted_from_the_day_of_asking(text: str, first: date, last: date) -> None:
    assert find_date_references(text, NOW) == [DateReference(first_day=first.toordinal(), last_day=last.toordinal())]
    assert find_date_references(text) == []


def test_last_month_and_last_year_are_whole() -> None:
    assert find_date_references("last month", "2024-01-15") == [DateReference(2023, 12)]
    assert find_date_references("last year", NOW) == [DateReference(2022)]


@given(st.text(max_size=120), st.text(max_size=30))
def test_no_text_makes_it_fail(text: str, now: str) -> None:
    assert isinstance(find_date_references(text, now), list)
    assert parse_day(text) >= 0
