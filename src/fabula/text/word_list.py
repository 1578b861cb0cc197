"""Word lists written as text, with spaces between the words."""

from __future__ import annotations


def make_word_set(words: str) -> frozenset[str]:
    """The set of the words in a text."""
    return frozenset(words.split())
