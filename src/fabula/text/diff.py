"""Differences of two texts: which parts were replaced, so that everything else keeps its place.

Texts are compared by lines, changed lines by words, and what lies between two words that stay by characters. A word of
a script without spaces is one character, and so is a mark or a line end.
Lines, words and short runs of words that occur
once in both texts and stand in the same order are anchors (a patience diff). Between two anchors the same is tried
again, because more is unique in a short stretch. What is left is compared by Myers' algorithm. Its steps are counted:
a stretch with very many changes is compared piece by piece, and when the steps for both texts are used up, the rest
counts as replaced. So the time stays close to linear.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_WORD = re.compile(r"[^\W぀-ヿ㐀-鿿豈-﫿]+|\S|\n")
_WORD_CHARACTER = re.compile(r"[^\W぀-ヿ㐀-鿿豈-﫿]")
_ANCHOR_WORDS = (1, 3, 1)  # words in a run that may be an anchor
_PASSES = 3  # with one size of runs: what is unique between two anchors may not be unique in the whole text
_SHORT = 32  # words of both texts up to which only single words are anchors
_MOST_EDITS = 64  # words inserted or deleted after which Myers' algorithm begins anew where it got furthest
_STEPS_PER_CHARACTER = 6  # of both texts, in Myers' algorithm
_LONGEST_LINES = 1_000_000  # characters of both texts in a changed stretch, which longer lines than
_LONGEST_LINE = 10_000  # these, on the average, let count as replaced

_Pair = tuple[int, int]  # the indexes of what matches in the old and in the new sequence
_Matcher = Callable[[Sequence[str], Sequence[str]], Sequence[_Pair]]


class TextEdit(NamedTuple):
    """One change of a text: the old text from `start` to `old_end` became the new one from `new_start` to `new_end`."""

    start: int
    old_end: int
    new_start: int
    new_end: int


def find_edits(old: str, new: str) -> list[TextEdit]:
    """List the changes that turn one text into the other, in order; what lies between them is unchanged."""
    edits: list[TextEdit] = []
    head, tail = _find_common_ends(old, new)
    while head and _WORD_CHARACTER.match(old, head - 1):
        head -= 1
    while tail and _WORD_CHARACTER.match(old, len(old) - tail):
        tail -= 1
    changed = TextEdit(head, len(old) - tail, head, len(new) - tail)
    comparison = _WordComparison(_STEPS_PER_CHARACTER * (changed.old_end + changed.new_end - 2 * head))
    for lines in _find_changes(old, new, changed, _LINE, _match_unique):
        if lines.start == lines.old_end or lines.new_start == lines.new_end or _has_endless_lines(old, new, lines):
            edits.append(lines)
            continue
        for start, old_end, new_start, new_end in _find_changes(old, new, lines, _WORD, comparison.match):
            head, tail = _find_common_ends(old[start:old_end], new[new_start:new_end])
            edits.append(TextEdit(start + head, old_end - tail, new_start + head, new_end - tail))
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


def _find_changes(old: str, new: str, stretch: TextEdit, token: re.Pattern[str], match: _Matcher) -> Iterator[TextEdit]:
    """The parts of a stretch between the tokens that match, where they differ."""
    old_spans = [found.span() for found in token.finditer(old, stretch.start, stretch.old_end)]
    new_spans = [found.span() for found in token.finditer(new, stretch.new_start, stretch.new_end)]
    pairs = match([old[start:end] for start, end in old_spans], [new[start:end] for start, end in new_spans])
    start, new_start = stretch.start, stretch.new_start
    for (old_end, next_start), (new_end, next_new_start) in [
        *((old_spans[i], new_spans[j]) for i, j in pairs),
        ((stretch.old_end, stretch.old_end), (stretch.new_end, stretch.new_end)),
    ]:
        if old[start:old_end] != new[new_start:new_end]:
            yield TextEdit(start, old_end, new_start, new_end)
        start, new_start = next_start, next_new_start


def _has_endless_lines(old: str, new: str, stretch: TextEdit) -> bool:
    """Whether a stretch is too long to be compared word by word, and no prose: it has hardly any line ends."""
    start, old_end, new_start, new_end = stretch
    size = old_end - start + new_end - new_start
    if size <= _LONGEST_LINES:
        return False
    return (old.count("\n", start, old_end) + new.count("\n", new_start, new_end)) * _LONGEST_LINE < size


def _find_common_ends(old: str, new: str) -> tuple[int, int]:
    """How many characters both texts begin and end with."""
    shortest = min(len(old), len(new))
    head = _find_largest(shortest, lambda size: old[:size] == new[:size])
    return head, _find_largest(shortest - head, lambda size: old[len(old) - size :] == new[len(new) - size :])


def _match_unique(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[_Pair]:
    """The items that occur once in both sequences and stand in the same order."""
    once_new = _find_unique(new)
    return _longest_increasing([(i, once_new[item]) for item, i in _find_unique(old).items() if item in once_new])


def _find_unique(items: Sequence[Hashable]) -> dict[Hashable, int]:
    """The index of each item that occurs once and is not empty."""
    counts = Counter(items)
    return {item: index for index, item in enumerate(items) if counts[item] == 1 and item}


def _match_runs(old: Sequence[str], new: Sequence[str], size: int) -> list[_Pair]:
    """The first words of runs of so many words that occur once in both sequences and stand in the same order."""
    if size == 1:  # a punctuation mark is no anchor: where it is unique, that is chance
        return _match_unique(
            *([word if word.isalnum() or len(word) > 1 else "" for word in words] for words in (old, new))
        )
    return _match_unique(*([*zip(*(words[k:] for k in range(size)), strict=False)] for words in (old, new)))


class _WordComparison:
    """Matches the words of stretches of two texts, with a number of steps for all of them."""

    __slots__ = ("steps",)

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def match(self, old: Sequence[str], new: Sequence[str]) -> list[_Pair]:
        """The words that match, in order."""
        pairs: list[_Pair] = []
        stretches = [(0, len(old), 0, len(new), 0, 0)]
        while stretches:
            i, old_end, j, new_end, level, passes = stretches.pop()
            while i < old_end and j < new_end and old[i] == new[j]:
                pairs.append((i, j))
                i, j = i + 1, j + 1
            while i < old_end and j < new_end and old[old_end - 1] == new[new_end - 1]:
                old_end, new_end = old_end - 1, new_end - 1
                pairs.append((old_end, new_end))
            if i == old_end or j == new_end:
                continue
            old_words, new_words = old[i:old_end], new[j:new_end]
            if len(old_words) + len(new_words) <= _SHORT:
                level = max(level, len(_ANCHOR_WORDS) - 1)
            if level == len(_ANCHOR_WORDS):
                pairs += [(i + a, j + b) for a, b in self._match_by_edits(old_words, new_words)]
                continue
            anchors = _match_runs(old_words, new_words, _ANCHOR_WORDS[level])
            after = (level, passes + 1) if anchors and passes < _PASSES else (level + 1, 0)
            next_i, next_j = i, j
            for a, b in [*((i + a, j + b) for a, b in anchors), (old_end, new_end)]:
                if next_i < a and next_j < b:
                    stretches.append((next_i, a, next_j, b, *after))
                if a < old_end:
                    pairs.append((a, b))
                next_i, next_j = a + 1, b + 1
        return sorted(pairs)

    def _match_by_edits(self, old: Sequence[str], new: Sequence[str]) -> Iterator[_Pair]:
        """The words that match with the fewest words inserted and deleted; with few of them if there are very many."""
        i = j = 0
        while i < len(old) and j < len(new) and self.steps > 0:
            rounds, x, y = self._advance(old, new, i, j)
            for a, b, size in _trace_back(rounds, x, y):
                yield from zip(range(i + a, i + a + size), range(j + b, j + b + size), strict=True)
            i, j = i + x, j + y

    def _advance(self, old: Sequence[str], new: Sequence[str], i: int, j: int) -> tuple[list[list[int]], int, int]:
        """Myers' algorithm from two indexes on, up to the end or `_MOST_EDITS`.

        Returns how far each diagonal got in `old` with 0, 1, 2 … edits, and how far it got in both in the end.
        """
        width, height, steps = len(old) - i, len(new) - j, 0
        ends = [0] * (2 * _MOST_EDITS + 3)  # by diagonal, the negative ones from the end
        rounds: list[list[int]] = []
        for edits in range(_MOST_EDITS + 1):
            if edits:
                rounds.append(ends.copy())
            for diagonal in range(-edits, edits + 1, 2):
                before = _find_previous(ends, diagonal, edits)
                start = x = ends[before] + (before < diagonal)
                y = x - diagonal
                while x < width and y < height and old[i + x] == new[j + y]:
                    x, y = x + 1, y + 1
                ends[diagonal] = x
                steps += 1 + x - start
                if x >= width and y >= height:
                    self.steps -= steps
                    return rounds, x, y
            if steps > self.steps:
                break
        self.steps -= steps
        reached = [(ends[diagonal], ends[diagonal] - diagonal) for diagonal in range(-edits, edits + 1, 2)]
        return rounds, *max((both for both in reached if both[0] <= width and both[1] <= height), key=sum)


def _find_previous(ends: Sequence[int], diagonal: int, edits: int) -> int:
    """The diagonal from which one more edit leads furthest: the next (an insertion) or the one before (a deletion)."""
    is_inserted = diagonal == -edits or (diagonal != edits and ends[diagonal - 1] < ends[diagonal + 1])
    return diagonal + 1 if is_inserted else diagonal - 1


def _trace_back(rounds: Sequence[Sequence[int]], x: int, y: int) -> Iterator[tuple[int, int, int]]:
    """The equal runs on the way to the place that was reached, the last one first."""
    diagonal = x - y
    for edits in range(len(rounds), 0, -1):
        ends = rounds[edits - 1]
        before = _find_previous(ends, diagonal, edits)
        start = ends[before] + (before < diagonal)
        if start < x:
            yield start, start - diagonal, x - start
        x, diagonal = ends[before], before
    if x:
        yield 0, 0, x


def _longest_increasing(pairs: Sequence[_Pair]) -> list[_Pair]:
    """The longest run of pairs whose second numbers increase; the first numbers increase already."""
    ends: list[int] = []  # the smallest last number of a run of each length
    last: list[int] = []  # the index of the pair it belongs to
    before: list[int] = []  # for each pair, the pair before it in its run
    for index, (_, number) in enumerate(pairs):
        length = bisect_left(ends, number)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1], last[length : length + 1] = [number], [index]
    run: list[_Pair] = []
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
