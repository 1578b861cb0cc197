"""The inverted index: for each term, which passages hold it.

`Postings` count the terms of one document by passage. They are plain arrays and a list of terms, so that a document
can be kept in a cache folder and read back without its text. A document that changed takes over the rows of the
passages that did not. `InvertedIndex` merges the postings of all documents, sorted by term. When a few documents
change, their entries are removed, the others get their new passage numbers and the new entries are inserted: no text
is read and nothing is sorted again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from sys import intern
from typing import Any

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from fabula.core.background import work_on
from fabula.search.message_header import parse_message_header
from fabula.search.model import Passage, SearchDocument
from fabula.text.bounded_cache import BoundedTextCache
from fabula.text.terms import count_terms

Integers = NDArray[np.int32]
# the place of a term among those that are looked up, the passage that holds it, and how often
Entries = tuple[NDArray[np.int64], Integers, NDArray[np.float32]]
WeightedNumbers = tuple[Integers, NDArray[np.float32]]  # numbers of terms, and the weight of each

QUERY_CACHE_CHARACTERS = 1_000_000  # of query text whose terms are cached
MAX_UNUSED_FACTOR = 2  # times as many terms may be known as are in use, before the index is built again


class Postings(Struct, frozen=True, eq=False):
    """The terms of one document, row by row: which terms a passage holds, and how often."""

    terms: tuple[str, ...]
    starts: Integers  # where the row of each passage begins; one more than there are passages
    term_places: Integers  # places of terms in `terms`
    counts: Integers

    def rows_from(self, first: int) -> Postings:
        """The rows of the passages from this one on."""
        start = self.starts[first]
        return Postings(self.terms, self.starts[first:] - start, self.term_places[start:], self.counts[start:])


class _TermPlaces(dict[str, int]):
    """The places of terms; a term that is looked up for the first time gets the next one."""

    def __missing__(self, term: str) -> int:
        place = self[intern(term)] = len(self)
        return place


def count_postings(
    document: SearchDocument,
    previous: SearchDocument | None = None,
    known: Postings | None = None,
    after_each: Callable[[], None] = work_on,
) -> Postings:
    """The postings of a document; `previous` and `known` are the same document as it was, to reuse unchanged rows.

    `after_each` is called after each passage that is counted.
    """
    passages = previous.passages if previous is not None and known is not None else ()
    if known is not None and passages and document.passages[: len(passages)] == passages:
        return _add_postings(known, document.passages[len(passages) :], after_each)
    known_rows = {passage.text: row for row, passage in enumerate(passages)}
    places = _TermPlaces((term, place) for place, term in enumerate(known.terms if known is not None else ()))
    rows: list[Integers] = []
    counts: list[Integers] = []
    for passage in document.passages:
        row = known_rows.get(passage.text)
        if row is not None and known is not None:
            span = slice(int(known.starts[row]), int(known.starts[row + 1]))
            rows.append(known.term_places[span])
            counts.append(known.counts[span])
        else:
            row_terms, row_counts = _count_passage(passage, places)
            rows.append(row_terms)
            counts.append(row_counts)
            after_each()
    empty = np.zeros(0, np.int32)
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int32)
    postings = Postings(tuple(places), starts, np.concatenate([empty, *rows]), np.concatenate([empty, *counts]))
    return _drop_unused_terms(postings) if known is not None else postings


def _count_passage(passage: Passage, places: _TermPlaces) -> tuple[Integers, Integers]:
    """The terms of a passage by their place, and how often it holds each; new terms get a place."""
    terms = count_terms(parse_message_header(passage).text)
    found = np.fromiter(map(places.__getitem__, terms), np.int32, len(terms))
    return found, np.fromiter(terms.values(), np.int32, len(terms))


def _add_postings(known: Postings, added: Sequence[Passage], after_each: Callable[[], None]) -> Postings:
    """The postings of a document to which passages were only added, as in a conversation that goes on."""
    places = _TermPlaces((term, place) for place, term in enumerate(known.terms))
    counted: list[tuple[Integers, Integers]] = []
    for passage in added:
        counted.append(_count_passage(passage, places))
        after_each()
    ends = known.starts[-1] + np.cumsum([len(row) for row, _ in counted], dtype=np.int32)
    return Postings(
        tuple(places),
        np.concatenate([known.starts, ends.astype(np.int32)]),
        np.concatenate([known.term_places, *(row for row, _ in counted)]),
        np.concatenate([known.counts, *(row for _, row in counted)]),
    )


def _drop_unused_terms(postings: Postings) -> Postings:
    """The postings without the terms of passages that are gone, once there are many of them."""
    used = np.unique(postings.term_places)
    if len(postings.terms) <= 2 * len(used) + 64:
        return postings
    return Postings(
        tuple(postings.terms[place] for place in used),
        postings.starts,
        np.searchsorted(used, postings.term_places).astype(np.int32),
        postings.counts,
    )


class InvertedIndex(Struct, frozen=True, eq=False):
    """The entries of all documents, sorted by term."""

    term_numbers: Mapping[str, int]
    terms: Integers  # the term of each entry,
    passages: Integers  # the passage that holds it,
    counts: NDArray[np.float32]  # and how often
    starts: NDArray[np.int64]  # where the entries of each term begin; one more than there are terms
    # the terms and the single characters of query texts
    query_cache: BoundedTextCache[tuple[WeightedNumbers, WeightedNumbers]] = field(
        default_factory=lambda: BoundedTextCache(QUERY_CACHE_CHARACTERS)
    )

    def count_passages(self, terms: NDArray[np.int64] | Integers) -> NDArray[np.int64]:
        """How many passages hold each of these terms."""
        return self.starts[terms + 1] - self.starts[terms]

    def find_postings(self, terms: NDArray[np.int64] | Integers) -> Entries:
        """All entries of these terms: the place of the term in `terms`, the passage, and the count."""
        entry_counts = self.count_passages(terms)
        rows = np.repeat(np.arange(len(terms)), entry_counts)
        firsts = self.starts[terms] - (np.cumsum(entry_counts) - entry_counts)
        entries = np.arange(len(rows)) + np.repeat(firsts, entry_counts)
        return rows, self.passages[entries], self.counts[entries]


def build_inverted_index(postings: Sequence[Postings], after_each: Callable[[], None] = work_on) -> InvertedIndex:
    """The inverted index of these documents, one after the other; `after_each` is called after each."""
    numbers: dict[str, int] = {}
    firsts = np.cumsum([0, *(len(each.starts) - 1 for each in postings)])[:-1].tolist()
    terms, passages, counts = _list_entries(numbers, list(zip(postings, firsts, strict=True)), after_each)
    order = np.argsort(terms, kind="stable")
    starts = _sum_starts(np.bincount(terms, minlength=len(numbers)))
    # One after the other, so that only one of the unsorted arrays is in memory beside its sorted one.
    terms = terms[order]
    passages = passages[order]
    counts = counts[order]
    return InvertedIndex(numbers, terms, passages, counts, starts)


def update_inverted_index(
    previous: InvertedIndex,
    moved: Integers,
    added: Sequence[tuple[Postings, int]],
    after_each: Callable[[], None] = work_on,
) -> InvertedIndex:
    """The index after a change.

    `moved` is the new number of each old passage, or -1. `added` are the postings to insert, each with the number of
    its first passage; `after_each` is called after each of them.
    """
    numbers = dict(previous.term_numbers)
    new_terms, new_passages, new_counts = _list_entries(numbers, added, after_each)
    order = np.argsort(new_terms, kind="stable")
    passages = moved[previous.passages]
    stays = passages >= 0
    terms = previous.terms[stays]
    places = np.searchsorted(terms, new_terms[order], side="right") + np.arange(len(order))
    is_old = np.ones(len(terms) + len(order), np.bool_)
    is_old[places] = False

    def merge(old: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
        merged = np.empty(len(is_old), old.dtype)
        merged[is_old] = old
        merged[places] = new[order]
        return merged

    entry_counts = np.bincount(new_terms, minlength=len(numbers))
    entry_counts[: len(previous.term_numbers)] += np.diff(previous.starts)
    entry_counts -= np.bincount(previous.terms[~stays], minlength=len(numbers))
    return InvertedIndex(
        numbers,
        merge(terms, new_terms),
        merge(passages[stays], new_passages),
        merge(previous.counts[stays], new_counts),
        _sum_starts(entry_counts),
    )


def is_stale(index: InvertedIndex) -> bool:
    """Are most of the known terms no longer in use?"""
    used = int(np.count_nonzero(np.diff(index.starts)))
    return len(index.term_numbers) > MAX_UNUSED_FACTOR * used + 1000


def _list_entries(
    numbers: dict[str, int], documents: Sequence[tuple[Postings, int]], after_each: Callable[[], None]
) -> tuple[Integers, Integers, NDArray[np.float32]]:
    """The term, passage and count of every entry; new terms get a number in `numbers`."""
    terms: list[Integers] = [np.zeros(0, np.int32)]
    passages: list[Integers] = [np.zeros(0, np.int32)]
    counts: list[Integers] = [np.zeros(0, np.int32)]
    for postings, first in documents:
        known = np.array([numbers.setdefault(term, len(numbers)) for term in postings.terms], np.int32)
        rows = np.arange(first, first + len(postings.starts) - 1, dtype=np.int32)
        terms.append(known[postings.term_places])
        passages.append(np.repeat(rows, np.diff(postings.starts)))
        counts.append(postings.counts)
        after_each()
    all_terms = np.concatenate(terms)
    terms.clear()  # their memory is needed for the other two
    all_passages = np.concatenate(passages)
    passages.clear()
    return all_terms, all_passages, np.concatenate(counts, dtype=np.float32)


def _sum_starts(entry_counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(entry_counts)])
