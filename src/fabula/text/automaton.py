"""Find many strings in a text at once: an Aho-Corasick automaton that is built in linear time.

The library moves the states in which a string ends to the front of its table, then follows each cycle of that
permutation from each of its states. A cycle is at most as long as the number of such states over the number of other
states before the first of them. Where nearly every state is one in which a string ends (`Name1`, `Name12`,
`Name123`), few others come before, and a hundred thousand strings took 14 seconds. So a large automaton begins with a
string of its own, the padding: a chain of states in which nothing ends.
"""

from __future__ import annotations

from collections.abc import Sequence

from ahocorasick_rs import AhoCorasick, MatchKind

MIN_PADDED = 1_000  # strings; fewer are built at once in any case
MAX_CYCLE = 32  # states
_PADDING = "\ufdd0"  # not a character of any text
_PADDING_BYTES = len(_PADDING.encode())


class Automaton:
    """An automaton over a list of strings, which are numbered in their order."""

    __slots__ = ("_automaton", "_is_overlapping", "_is_padded")

    def __init__(self, strings: Sequence[str], *, leftmost_longest: bool = False) -> None:
        """With `leftmost_longest`, occurrences do not overlap: the longest of those that begin first is found."""
        padding = make_padding(len(strings))
        self._is_overlapping = not leftmost_longest
        self._is_padded = bool(padding)
        kind = MatchKind.LeftmostLongest if leftmost_longest else MatchKind.Standard
        self._automaton = AhoCorasick([*padding, *strings], matchkind=kind) if strings else None

    def find(self, text: str) -> list[tuple[int, int, int]]:
        """The number of the string, start and end of every occurrence, by their ends."""
        if self._automaton is None:
            return []
        found = self._automaton.find_matches_as_indexes(text, overlapping=self._is_overlapping)
        return [(number - 1, start, end) for number, start, end in found if number] if self._is_padded else found


def make_padding(strings: int) -> list[str]:
    """The string that an automaton of so many strings begins with, if they are many."""
    return [_PADDING * (strings // (MAX_CYCLE * _PADDING_BYTES) + 1)] if strings >= MIN_PADDED else []
