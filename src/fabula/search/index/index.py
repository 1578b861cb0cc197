"""The index: all passages of a project, found by their words and, where there are vectors, by their meaning.

An index never changes. The next one takes over from the one before whatever belongs to a thread that stayed
the same, and inside a thread that changed the counts of the passages that did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from fabula.search.index.inverted_index import Ledger, follow, make, stale
from fabula.search.index.passage_table import Traits, seat, traits
from fabula.search.index.postings import Integers, Postings, count
from fabula.search.model import Hit, Passage, Query, Thread
from fabula.search.page_query import spoken
from fabula.search.ranking import ranked
from fabula.text.terms import rooted

_MUCH = 0.5  # of all passages new: making the ledger anew is no slower


class Index:
    """A snapshot of all passages, sharing with `before` what did not change."""

    def __init__(
        self,
        threads: Sequence[Thread],
        before: Index | None = None,
        kept: Mapping[str, Postings] | None = None,
    ) -> None:
        """Index threads; `kept` are postings read back from a cache, by the id of their thread."""
        self.threads = tuple(threads)
        self.passages: Sequence[Passage] = tuple(chain.from_iterable(thread.passages for thread in threads))
        self.by_source: Mapping[str, int] = {passage.source: at for at, passage in enumerate(self.passages)}
        self._places = {thread.id: at for at, thread in enumerate(threads)}
        self.postings: Mapping[str, Postings] = {}
        self._traits: dict[str, Traits] = {}
        same = self._take(before, kept or {})
        self._ledger = self._merge(before, same)
        self._seats = seat([self._traits[thread.id] for thread in threads])

    def search(
        self,
        query: Query,
        *,
        most: int,
        allowed: NDArray[np.bool_] | None = None,
        vectors: NDArray[np.float32] | None = None,
        here: int | None = None,
    ) -> list[Hit]:
        """The passages that answer best, best first, with scores from 0 to 1.

        `vectors` says how near in meaning each passage is, 0 where nobody knows; `here` is the number of the
        passage by which somebody stands, and draws a little.
        """
        return ranked(self._ledger, self._seats, query, most=most, allowed=allowed, nearness=vectors, here=here)

    def spoken(self, query: Query) -> frozenset[int]:
        """The words of what weighs most in a query, by number."""
        return spoken(self._ledger, query)

    def words(self, number: int) -> dict[int, str]:
        """The words of a passage by the same numbers, each as it stands there."""
        numbers = self._ledger.numbers
        return {numbers[term]: word for term, word in rooted(self.passages[number].text).items() if term in numbers}

    @property
    def said(self) -> list[str]:
        """Every passage as it is compared by meaning."""
        return [text for thread in self.threads for text in self._traits[thread.id].said]

    def beside(self, number: int) -> list[int]:
        """The passages right before and right behind one, in its thread and with no long pause between them."""
        places = self._seats.places
        return [
            at
            for at in (number - 1, number + 1)
            if 0 <= at < len(places) and abs(int(places[at]) - int(places[number])) == 1
        ]

    def _take(self, before: Index | None, kept: Mapping[str, Postings]) -> set[str]:
        """Counts and traits of every thread; which of them are those of the index before."""
        same: set[str] = set()
        postings: dict[str, Postings] = {}
        for thread in self.threads:
            place = before._places.get(thread.id) if before is not None else None
            was = before.threads[place] if before is not None and place is not None else None
            if before is not None and was is not None and (was is thread or was.passages == thread.passages):
                postings[thread.id] = before.postings[thread.id]
                self._traits[thread.id] = before._traits[thread.id]
                same.add(thread.id)
                continue
            known = before.postings[thread.id] if before is not None and was is not None else None
            made = kept[thread.id] if thread.id in kept else count(thread, was, known)
            postings[thread.id] = made
            self._traits[thread.id] = traits(thread, made)
        self.postings = postings
        return same

    def _merge(self, before: Index | None, same: set[str]) -> Ledger:
        new = sum(len(thread.passages) for thread in self.threads if thread.id not in same)
        if before is None or new > _MUCH * len(self.passages) or stale(before._ledger):
            return make([self.postings[thread.id] for thread in self.threads])
        firsts, olds = _firsts(self.threads), _firsts(before.threads)
        moved: Integers = np.full(len(before.passages), -1, np.int32)
        for thread in self.threads:
            if thread.id in same:
                first, old, size = firsts[thread.id], olds[thread.id], len(thread.passages)
                moved[old : old + size] = np.arange(first, first + size)
        added = [(self.postings[thread.id], firsts[thread.id]) for thread in self.threads if thread.id not in same]
        return follow(before._ledger, moved, added)


def _firsts(threads: Sequence[Thread]) -> dict[str, int]:
    """The number of each thread's first passage."""
    firsts, number = {}, 0
    for thread in threads:
        firsts[thread.id] = number
        number += len(thread.passages)
    return firsts
