"""Similar names: what a person may have meant by a name that nothing has.

Names are similar where few letters must be changed, added, left out or swapped with the next one to get from one to
the other: one letter in three to five, two in six to eleven, one more for every four further ones. Of Chinese names,
where a character is a syllable, one character in two to four may differ; of two it is the second one, because the first
is a surname, and many words have the same end (人物, 宝物). What was typed is compared with a whole name,
with its beginning, and with each of its words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from heapq import nlargest
from itertools import pairwise
from operator import itemgetter

MOST = 3  # names that a miss is answered with
MAX_COMPARED = 100  # characters: longer names are texts, and are compared by how they begin
MAX_SCORED = 200  # names that are compared letter by letter
MIN_PARTIAL = 4  # characters that are compared with a part of a name: a shorter word is like too many
_FIRST_IDEOGRAPH = "\u2e80"
_WORD_ENDS = re.compile(r"[\s.]+")


def find_similar_names(
    wanted: str, names: Iterable[str], *, most: int = MOST, fold: Callable[[str], str] = str.casefold
) -> list[str]:
    """Return the names that are spelled almost like the wanted one, the most similar first.

    `fold` takes away what may differ, such as case and accents.
    """
    folded = fold(wanted[:MAX_COMPARED])
    limit = _count_allowed(folded)
    known = {name: fold(name[:MAX_COMPARED]) for name in names}
    if len(known) > MAX_SCORED:  # comparing is slow: only those that share most letters and pairs of letters
        pairs = _pairs(folded)
        known = dict(nlargest(MAX_SCORED, known.items(), key=lambda one: len(pairs & _pairs(one[1][:40]))))
    if len(folded) == 2 and limit:
        known = {name: own for name, own in known.items() if own[:1] == folded[0]}
    distances = {name: _measure(folded, own, limit) for name, own in known.items()}
    similar = [(name, distance) for name, distance in distances.items() if distance <= limit]
    return [name for name, _ in sorted(similar, key=itemgetter(1))[:most]]


def _count_allowed(name: str) -> int:
    """Return how many letters of a name may be other ones."""
    if any(character >= _FIRST_IDEOGRAPH for character in name):
        return (len(name) + 1) // 3
    return len(name) // 3 if len(name) < 9 else max(2, len(name) // 4)


def _measure(wanted: str, name: str, limit: int) -> int:
    """Return how far the wanted name is from a name or the nearest part of it; more than the limit where it is far."""
    parts = {name}
    if len(wanted) >= MIN_PARTIAL:
        parts.update((name[: len(wanted)], *_WORD_ENDS.split(name)))
    return min(_count_edits(wanted, part, limit) for part in parts)


def _count_edits(first: str, second: str, limit: int) -> int:
    """Return the edit distance in which two neighbouring letters may also change places; limit + 1 where it is more."""
    if abs(len(first) - len(second)) > limit or not second:
        return limit + 1
    before: list[int] = []
    row = list(range(len(second) + 1))
    for at, letter in enumerate(first, start=1):
        before, last, row = row, before, [at]
        for place, other in enumerate(second, start=1):
            edits = min(before[place] + 1, row[-1] + 1, before[place - 1] + (letter != other))
            if at > 1 and place > 1 and letter == second[place - 2] and other == first[at - 2]:
                edits = min(edits, last[place - 2] + 1)
            row.append(edits)
        if min(row) > limit:
            return limit + 1
    return min(row[-1], limit + 1)


def _pairs(text: str) -> set[str]:
    return {*text, *map("".join, pairwise(text))}
