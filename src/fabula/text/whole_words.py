"""Whole words in any script: does a text hold something as a word of its own?"""

from __future__ import annotations

from collections.abc import Iterator

from fabula.text.scripts import Script, script_of


def as_a_word(text: str, word: str) -> bool:
    """No letter or digit of the same script stands beside it; in Chinese there are no edges to see."""
    return first_as_a_word(text, word) >= 0


def first_as_a_word(text: str, word: str) -> int:
    """Where it first stands as a word of its own; -1 where it does not."""
    for start, end in occurrences(text, word):
        if _edge(text[start - 1 : start], word[0]) and _edge(text[end : end + 1], word[-1]):
            return start
    return -1


def occurrences(text: str, word: str) -> Iterator[tuple[int, int]]:
    """Where it stands, overlapping ones too."""
    start = text.find(word)
    while start >= 0:
        yield start, start + len(word)
        start = text.find(word, start + 1)


def _edge(beside: str, own: str) -> bool:
    if not beside or not beside.isalnum() or not own.isalnum():
        return True
    script = script_of(own)
    return script in (Script.HAN, Script.OTHER) or script_of(beside) != script
