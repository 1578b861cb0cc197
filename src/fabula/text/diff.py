"""Differences of two texts: which parts were replaced, so that everything else keeps its place.

Texts are compared by lines, then changed lines by words. Tokens that occur once in both texts and stand in the same
order are anchors (a patience diff), so the time stays close to linear. Between anchors, short stretches are compared
exactly and long ones count as replaced.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate
from typing import NamedTuple

# Lines, then words. A word of a script without spaces is one character.
_LEVELS = (re.compile(r"[^\n]*\n|[^\n]+"), re.compile(r"[^\W぀-ヿ㐀-鿿豈-﫿]+|.", re.DOTALL))
_TOKEN_ENDS = (re.compile(r"\n"), re.compile(r"[\W぀-ヿ㐀-鿿豈-﫿]"))
_PASSES = 4  # on one level: what is unique between two anchors may not be unique in the whole text
_EXACT = 20_000  # pairs of words up to which two stretches are compared exactly


class TextEdit(NamedTuple):
    """One change of a text: the old text from `start` to `old_end` became the new one from `new_start` to `new_end`."""

    start: int
    old_end: int
    new_start: int
    new_end: int


def find_edits(old: str, new: str) -> list[TextEdit]:
    """List the changes that turn one text into the other, in order; what lies between them is unchanged."""
    edits: list[TextEdit] = []
    for edit in _compare(old, new, 0, 0, 0, _PASSES):
        if edits and edits[-1].old_end == edit.start and edits[-1].new_end == edit.new_start:
            edit = TextEdit(edits[-1].start, edit.old_end, edits.pop().new_start, edit.new_end)
        edits.append(edit)
    return edits


def map_offset(edits: Sequence[TextEdit], offset: int, *, forward: bool) -> int:
    """An offset into the old text, as one into the new; inside a change it becomes its end (`forward`) or start."""
    index = bisect_left(edits, offset, key=lambda edit: edit.start)
    if index == 0:
        return offset
    edit = edits[index - 1]
    if offset >= edit.old_end:
        return offset + edit.new_end - edit.old_end
    return edit.new_end if forward else edit.new_start


def map_range(edits: Sequence[TextEdit], start: int, end: int) -> tuple[int, int]:
    """A range of the old text without what was replaced or added at its ends, in the new; empty if nothing is left."""
    index = bisect_right(edits, start, key=lambda edit: edit.start)
    if index:
        edit = edits[index - 1]
        first = max(start + edit.new_end - edit.old_end, edit.new_end)
    else:
        first = start
    index = bisect_left(edits, end, key=lambda edit: edit.start)
    if index:
        edit = edits[index - 1]
        last = end + edit.new_end - edit.old_end if end > edit.old_end else edit.new_start
    else:
        last = end
    return first, max(first, last)


def _compare(old: str, new: str, at_old: int, at_new: int, level: int, passes: int) -> Iterator[TextEdit]:
    """Compare two stretches that begin at these offsets, first by the tokens of a level, then between the matches."""
    head, tail = _find_common_ends(old, new, level)
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    at_old, at_new = at_old + head, at_new + head
    if not old or not new or level == len(_LEVELS):
        if old or new:
            yield TextEdit(at_old, at_old + len(old), at_new, at_new + len(new))
        return
    old_tokens, new_tokens = _LEVELS[level].findall(old), _LEVELS[level].findall(new)
    matches = _match_tokens(old_tokens, new_tokens)
    next_level, next_passes = (level, passes - 1) if matches and passes else (level + 1, _PASSES)
    old_starts, new_starts = [0, *accumulate(map(len, old_tokens))], [0, *accumulate(map(len, new_tokens))]
    i = j = 0
    for a, b in [*matches, (len(old_tokens), len(new_tokens))]:
        yield from _compare(
            old[old_starts[i] : old_starts[a]],
            new[new_starts[j] : new_starts[b]],
            at_old + old_starts[i],
            at_new + new_starts[j],
            next_level,
            next_passes,
        )
        i, j = a + 1, b + 1


def _find_common_ends(old: str, new: str, level: int) -> tuple[int, int]:
    """How many characters both texts begin and end with, in whole tokens of the level."""
    shortest = min(len(old), len(new))
    head = _find_largest(shortest, lambda size: old[:size] == new[:size])
    if level < len(_LEVELS) and old != new:
        while not _is_token_start(old, head, level):
            head -= 1
    tail = _find_largest(shortest - head, lambda size: old[len(old) - size :] == new[len(new) - size :])
    if level < len(_LEVELS):
        while tail and not all(_is_token_start(text, len(text) - tail, level) for text in (old, new)):
            tail -= 1
    return head, tail


def _is_token_start(text: str, at: int, level: int) -> bool:
    return at == 0 or _TOKEN_ENDS[level].match(text, at - 1) is not None


def _match_tokens(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of indexes of equal tokens, both in increasing order."""
    once_old, once_new = _find_unique(old), _find_unique(new)
    pairs = [(index, once_new[token]) for token, index in once_old.items() if token in once_new]
    if pairs or len(old) * len(new) > _EXACT:
        return _longest_increasing(pairs)
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return [(block.a + step, block.b + step) for block in blocks for step in range(block.size)]


def _find_unique(tokens: Sequence[str]) -> dict[str, int]:
    """The index of each token that occurs once."""
    counts = Counter(tokens)
    return {token: index for index, token in enumerate(tokens) if counts[token] == 1}


def _longest_increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs whose second numbers increase; the first numbers increase already."""
    ends: list[int] = []  # the smallest last number of a run of each length
    last: list[int] = []  # the index of the pair it belongs to
    before: list[int] = []  # for each pair, the pair before it in its run
    for index, (_, number) in enumerate(pairs):
        length = bisect_left(ends, number)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1], last[length : length + 1] = [number], [index]
    run: list[tuple[int, int]] = []
    index = last[-1] if last else -1
    while index >= 0:
        run.append(pairs[index])
        index = before[index]
    return run[::-1]


def _find_largest(limit: int, is_same: Callable[[int], bool]) -> int:
    """The largest size up to `limit` for which `is_same` holds (it holds for every smaller size)."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if is_same(middle):
            low = middle
        else:
            high = middle - 1
    return low
