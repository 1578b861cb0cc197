"""The ledger: for each word of all threads, which passages hold it.

Made from the postings of threads, sorted by word. When a few threads change, their entries are taken out, the
others moved to their new numbers, and the new ones put in: no text is looked at and nothing is sorted again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from fabula.search.index.postings import Integers, Postings
from fabula.text.bounded_cache import Remembered

Shares = tuple[Integers, NDArray[np.float32]]  # words by number, and what each counts for

SPOKEN = 1_000_000  # characters of text whose words are kept
SLACK = 2  # times as many words may be known as are in use, before all is made anew


class Ledger(Struct, frozen=True, eq=False):
    """Entries sorted by word."""

    numbers: Mapping[str, int]  # of words
    words: Integers  # the word of each entry,
    holders: Integers  # the passage that holds it,
    counts: NDArray[np.float32]  # and how often
    starts: NDArray[np.int64]  # where the entries of each word begin; one more than there are words
    # of texts that were looked for, their words and their characters
    spoken: Remembered[tuple[Shares, Shares]] = field(default_factory=lambda: Remembered(SPOKEN))

    def held(self, words: NDArray[np.int64] | Integers) -> NDArray[np.int64]:
        """How many passages hold each of these words."""
        return self.starts[words + 1] - self.starts[words]

    def entries(self, words: NDArray[np.int64] | Integers) -> tuple[NDArray[np.int64], Integers, NDArray[np.float32]]:
        """All entries of these words: which of them it is, who holds it, and how often."""
        held = self.held(words)
        rows = np.repeat(np.arange(len(words)), held)
        at = np.arange(len(rows)) + np.repeat(self.starts[words] - (np.cumsum(held) - held), held)
        return rows, self.holders[at], self.counts[at]


def make(postings: Sequence[Postings]) -> Ledger:
    """The ledger of all these threads, one after the other."""
    numbers: dict[str, int] = {}
    firsts = np.cumsum([0, *(len(each.starts) - 1 for each in postings)])[:-1].tolist()
    words, holders, counts = _entries(numbers, list(zip(postings, firsts, strict=True)))
    order = np.argsort(words, kind="stable")
    held = np.bincount(words, minlength=len(numbers))
    return Ledger(numbers, words[order], holders[order], counts[order], _starts(held))


def follow(before: Ledger, moved: Integers, new: Sequence[tuple[Postings, int]]) -> Ledger:
    """The ledger after a change: `moved` is the new number of each old passage, or -1; `new` are threads to put in."""
    numbers = dict(before.numbers)
    added = _entries(numbers, new)
    order = np.argsort(added[0], kind="stable")
    holders = moved[before.holders]
    stays = holders >= 0
    words = before.words[stays]
    places = np.searchsorted(words, added[0][order], side="right") + np.arange(len(order))
    old = np.ones(len(words) + len(order), np.bool_)
    old[places] = False

    def woven(stayed: NDArray[Any], came: NDArray[Any]) -> NDArray[Any]:
        made = np.empty(len(old), stayed.dtype)
        made[old] = stayed
        made[places] = came[order]
        return made

    held = np.bincount(added[0], minlength=len(numbers))
    held[: len(before.numbers)] += np.diff(before.starts)
    held -= np.bincount(before.words[~stays], minlength=len(numbers))
    return Ledger(
        numbers,
        woven(words, added[0]),
        woven(holders[stays], added[1]),
        woven(before.counts[stays], added[2]),
        _starts(held),
    )


def stale(ledger: Ledger) -> bool:
    """Are most of the words it knows in use no more?"""
    return len(ledger.numbers) > SLACK * int(np.count_nonzero(np.diff(ledger.starts))) + 1000


def _entries(
    numbers: dict[str, int], threads: Sequence[tuple[Postings, int]]
) -> tuple[Integers, Integers, NDArray[np.float32]]:
    words: list[Integers] = [np.zeros(0, np.int32)]
    holders: list[Integers] = [np.zeros(0, np.int32)]
    counts: list[Integers] = [np.zeros(0, np.int32)]
    for each, first in threads:
        known = np.array([numbers.setdefault(word, len(numbers)) for word in each.words], np.int32)
        rows = np.arange(first, first + len(each.starts) - 1, dtype=np.int32)
        words.append(known[each.places])
        holders.append(np.repeat(rows, np.diff(each.starts)))
        counts.append(each.counts)
    return np.concatenate(words), np.concatenate(holders), np.concatenate(counts).astype(np.float32)


def _starts(held: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(held)])
