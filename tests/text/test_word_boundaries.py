"""Whole words, in every script that has them."""

from __future__ import annotations

import pytest

from fabula.text.word_boundaries import contains_word, find_occurrences


@pytest.mark.parametrize(
    ("text", "word", "found"),
    [
        ("a cat.", "cat", True),
        ("concat cats", "cat", False),
        ("café", "caf", False),
        ("Мираж", "Мир", False),
        ("Мир!", "Мир", True),
        ("长安街", "长安", True),
        ("ソラ。", "ソラ", True),
        ("ソラマメ", "ソラ", False),
        ("青云cat宗", "cat", True),
        ("_cat_", "cat", True),
        ("", "cat", False),
    ],
)
def test_a_word_ends_where_its_script_does(text: str, word: str, found: bool) -> None:
    assert contains_word(text, word) is found


def test_overlapping_occurrences_are_all_seen() -> None:
    assert list(find_occurrences("aaa", "aa")) == [(0, 2), (1, 3)]
