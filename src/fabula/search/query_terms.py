"""The terms of a question: the most telling ones with their weights, and the dates it names.

The time of a search depends on how many terms are looked up, so their number is limited: of a long query only the
rarest terms count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import sqrt

import numpy as np
from msgspec import Struct

from fabula.search.dates import DateReference, find_date_references
from fabula.search.index.inverted_index import InvertedIndex, WeightedNumbers
from fabula.search.model import Query
from fabula.text.terms import EXACT_PREFIX, count_terms, is_shared_term, is_single_character

MAX_CHARACTERS = 12_000  # of a query part that are read, half from its beginning and half from its end
MAX_TERMS = 32  # of one sort that are looked up,
MAX_CELLS = 1_000_000  # or fewer where there are very many passages
MAX_DATE_CHARACTERS = 400  # of a query part in which dates are looked for
MAX_DATES = 4
NAME_WEIGHT = 0.5  # added to a term that is part of a name
_SHARED_REACH = 5  # passages among which a shared term is spread
_MIN_SPEAKER_TERM = 3  # letters of a term by which a speaker is recognised


class QueryTerms(Struct, frozen=True, eq=False):
    """The terms of a query by their sort, and its dates."""

    shared: WeightedNumbers
    exact: WeightedNumbers
    characters: WeightedNumbers
    weights: Mapping[str, float]  # of all shared terms of the query
    dates: list[DateReference]

    def weigh_speaker(self, name: str) -> float:
        """How much the query is about the speaker with this name."""
        return max((self.weights[term] for term in _split_speaker_name(name) if term in self.weights), default=0.0)


def make_query_terms(index: InvertedIndex, query: Query, slot_count: int, *, with_dates: bool = True) -> QueryTerms:
    """The terms of a query that are worth looking up in a passage table with so many slots."""
    top = max((weight for _, weight in query.parts), default=0.0)
    weights: dict[str, float] = {}
    dates: list[DateReference] = []
    for part, weight in query.parts:
        if weight > 0:
            text = _cut_middle(part)
            for term, count in count_terms(text).items():
                weights[term] = weights.get(term, 0.0) + weight / top * sqrt(min(count, 3))
            if with_dates and weight == top and not query.is_page:
                dates.extend(find_date_references(text[:MAX_DATE_CHARACTERS], query.now))
    for name in query.names:
        for term in count_terms(name[:200]):
            weights[term] = weights.get(term, 0.0) + NAME_WEIGHT
    limit = max(min(MAX_TERMS, MAX_CELLS // max(slot_count, 1)), 4)
    shared_weights: dict[str, float] = {}
    shared: list[tuple[int, float]] = []
    exact: list[tuple[int, float]] = []
    characters: list[tuple[int, float]] = []
    for term, weight in weights.items():
        if term[0] == EXACT_PREFIX:
            numbers = exact
        elif is_single_character(term):
            numbers = characters
        else:
            numbers = shared
            shared_weights[term] = weight
        if term in index.term_numbers:
            numbers.append((index.term_numbers[term], weight))
    return QueryTerms(
        _choose_rarest(index, shared, limit, slot_count),
        _choose_rarest(index, exact, limit, slot_count),
        _choose_rarest(index, characters, 2 * limit, slot_count),
        shared_weights,
        dates[:MAX_DATES],
    )


def _cut_middle(text: str) -> str:
    half = MAX_CHARACTERS // 2
    return text if len(text) <= MAX_CHARACTERS else f"{text[:half]}\n{text[-half:]}"


def _choose_rarest(
    index: InvertedIndex, terms: Sequence[tuple[int, float]], limit: int, slot_count: int
) -> WeightedNumbers:
    """The most telling terms, by their weight and by how few passages hold them."""
    numbers = np.array([number for number, _ in terms], np.int32)
    weights = np.array([weight for _, weight in terms], np.float32)
    passages = index.count_passages(numbers)
    worth = np.where(passages, weights * np.log1p(slot_count / np.maximum(_SHARED_REACH * passages, 1)), 0.0)
    best = np.sort(np.lexsort((numbers, -worth))[: min(limit, int(np.count_nonzero(passages)))])
    return numbers[best], weights[best]


@lru_cache(maxsize=4096)
def _split_speaker_name(name: str) -> tuple[str, ...]:
    shared = [term for term in count_terms(name) if is_shared_term(term)]
    return tuple(term for term in shared if not term.isascii() or len(term) >= _MIN_SPEAKER_TERM)
