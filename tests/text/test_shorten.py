"""Texts in one short line."""

from __future__ import annotations

import pytest

from fabula.text.shorten import short


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ""),
        (" The\n lamp ", "The lamp"),
        ("The lamp went", "The lamp…"),
        ("0123456789", "0123456789"),
        ("01234567890", "012345678…"),
        ("灯灭了", "灯灭了"),
    ],
)
def test_a_line_is_no_longer_than_asked_for_and_shows_where_it_was_cut(text: str, line: str) -> None:
    assert short(text, 10) == line
