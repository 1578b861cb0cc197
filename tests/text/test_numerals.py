"""Numbers as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.text.numerals import parse_numeral


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("12", 12), ("１２", 12), ("3rd", 3), ("XII", 12), ("xlix", 49), ("twelve", 12), ("Twelfth", 12)),
        *(("twenty-five", 25), ("twenty fifth", 25), ("a hundred", 100), ("ninetieth", 90)),
        *(("十二", 12), ("二十", 20), ("一百二十", 120), ("一百零八", 108), ("一二〇", 120), ("廿三", 23), ("两", 2)),
    ],
)
def test_a_number_is_read(text: str, number: int) -> None:
    assert parse_numeral(text) == number


@pytest.mark.parametrize("text", ["", "the", "civil", "mild", "twenty-twelve", "第三", "iiii"])
def test_a_word_is_no_number(text: str) -> None:
    assert parse_numeral(text) is None


@given(st.text(max_size=12))
def test_any_text_can_be_read(text: str) -> None:
    number = parse_numeral(text)
    assert number is None or number >= 0
