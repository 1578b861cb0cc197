"""Joining: words that are put together."""

from __future__ import annotations

import pytest

from fabula.skills.joining import space_between


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
def test_words_that_are_joined_have_a_space_where_their_script_has_one(before: str, after: str, between: str) -> None:
    assert space_between(before, after) == between
