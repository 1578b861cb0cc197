"""Match a text without spaces against a sequence of word lists.

A regular expression of repeated alternatives takes exponential time where words are made of other words (不要, 不, 要).
Here no place is tried twice for the same part of the sequence. The match is the one that the expression would find.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

Repetition = Literal["once", "most", "fewest"]


class WordList(Struct, frozen=True):
    """One part of a sequence: words that stand once, or as often as possible or necessary; None stands for any."""

    words: tuple[str, ...] | None
    repetition: Repetition = "once"


def make_word_list(words: Iterable[str], repetition: Repetition = "once") -> WordList:
    """Make a part of a sequence; the longest word is tried first."""
    return WordList(tuple(sorted(words, key=len, reverse=True)), repetition)


def match_sequence(text: str, sequence: Sequence[WordList]) -> list[str] | None:
    """Match a whole text; return what belongs to each part, or None."""
    failed: set[tuple[int, int]] = set()
    path: list[tuple[int, int, int]] = []  # part, and start and end of what it takes

    def match(part: int, at: int) -> bool:
        if part == len(sequence):
            return at == len(text)
        if (part, at) in failed:
            return False
        for following, end in _list_steps(sequence[part], text, part, at):
            path.append((part, at, end))
            if match(following, end):
                return True
            path.pop()
        failed.add((part, at))
        return False

    if not match(0, 0):
        return None
    found = [""] * len(sequence)
    for part, start, end in path:
        found[part] += text[start:end]
    return found


def _list_steps(words: WordList, text: str, part: int, at: int) -> list[tuple[int, int]]:
    """The part and the place to go on with, in the order of preference."""
    if words.words is None:
        ends = [at + 1] if at < len(text) else []
    else:
        ends = [at + len(word) for word in words.words if text.startswith(word, at)]
    if words.repetition == "once":
        return [(part + 1, end) for end in ends]
    again = [(part, end) for end in ends]
    return [*again, (part + 1, at)] if words.repetition == "most" else [(part + 1, at), *again]
