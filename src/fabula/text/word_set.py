"""Words in a list, as a person writes them: with spaces between."""

from __future__ import annotations


def listed(words: str) -> frozenset[str]:
    """A set of the words in a line."""
    return frozenset(words.split())
