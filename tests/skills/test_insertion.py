"""Insertion: whether inserted text needs a space beside it."""

from __future__ import annotations

import pytest

from fabula.skills.insertion import find_separator


@pytest.mark.parametrize(
    ("before", "after", "between"),
    [
        ("She stood.", "The sea", " "),
        ("She went to the", "harbour", " "),
        ("“Go.”", "She left", " "),
        ('"Go."', "She left", " "),
        ('She said, "', "Go", ""),
        ("She stood.\n", "The sea", ""),
        ("She stood", ", and left", ""),
        ("(", "aside", ""),
        ("她站着。", "海很静", ""),
        ("", "The sea", ""),
        ("She", "", ""),
    ],
)
def test_a_space_separates_joined_texts_where_their_script_has_spaces(before: str, after: str, between: str) -> None:
    assert find_separator(before, after) == between
