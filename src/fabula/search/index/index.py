"""The search index: all passages of a project, found by their terms and, where there are vectors, by meaning.

An index never changes. The next one takes over from the previous one whatever belongs to a document that stayed the
same, and inside a changed document the counts of the passages that did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from fabula.search.index.inverted_index import (
    Integers,
    InvertedIndex,
    Postings,
    build_inverted_index,
    count_postings,
    is_stale,
    update_inverted_index,
)
from fabula.search.index.passage_table import DocumentTraits, build_passage_table, read_traits
from fabula.search.model import Passage, Query, SearchDocument, SearchHit
from fabula.search.page_query import find_query_words
from fabula.search.ranking import rank_passages
from fabula.text.terms import map_shared_terms

_MAX_UPDATED_SHARE = 0.5  # of all passages may be new; above that, building the inverted index is no slower


class SearchIndex:
    """An immutable index of all passages, sharing with the previous one what did not change."""

    def __init__(
        self,
        documents: Sequence[SearchDocument],
        previous: SearchIndex | None = None,
        cached: Mapping[str, Postings] | None = None,
    ) -> None:
        """Index documents; `cached` are postings read from the cache folder, by document id."""
        self.documents = tuple(documents)
        self.passages: Sequence[Passage] = tuple(chain.from_iterable(document.passages for document in documents))
        self.by_source: Mapping[str, int] = {passage.source: number for number, passage in enumerate(self.passages)}
        self.first_passages: Mapping[str, int] = _number_first_passages(documents)
        self._places = {document.id: place for place, document in enumerate(documents)}
        self.postings: Mapping[str, Postings] = {}
        self._traits: dict[str, DocumentTraits] = {}
        unchanged = self._count(previous, cached or {})
        self._inverted = self._merge(previous, unchanged)
        self._table = build_passage_table([self._traits[document.id] for document in documents])

    def search(
        self,
        query: Query,
        *,
        limit: int,
        allowed: NDArray[np.bool_] | None = None,
        semantic_scores: NDArray[np.float32] | None = None,
        near_passage: int | None = None,
    ) -> list[SearchHit]:
        """The best passages, best first, with scores from 0 to 1.

        `semantic_scores` says how near in meaning each passage is, 0 where that is unknown. Passages beside the one
        with the number `near_passage` score a little higher.
        """
        return rank_passages(
            self._inverted,
            self._table,
            query,
            limit=limit,
            allowed=allowed,
            semantic_scores=semantic_scores,
            near_passage=near_passage,
        )

    def find_query_words(self, query: Query) -> frozenset[int]:
        """The numbers of the terms in the heaviest part of a query."""
        return find_query_words(self._inverted, query)

    def read_words(self, number: int) -> dict[int, str]:
        """The words of a passage as it has them, by the numbers of their terms."""
        numbers, terms = self._inverted.term_numbers, map_shared_terms(self.passages[number].text)
        return {numbers[term]: word for term, word in terms.items() if term in numbers}

    @property
    def embedding_texts(self) -> list[str]:
        """The text of every passage as it is embedded."""
        return [text for document in self.documents for text in self._traits[document.id].embedding_texts]

    def find_neighbours(self, number: int) -> list[int]:
        """The passages right before and after one, in its document and without a long pause between them."""
        slots = self._table.slots
        return [
            other
            for other in (number - 1, number + 1)
            if 0 <= other < len(slots) and abs(int(slots[other]) - int(slots[number])) == 1
        ]

    def _count(self, previous: SearchIndex | None, cached: Mapping[str, Postings]) -> set[str]:
        """Set the postings and traits of every document; returns the ids of those taken from the previous index."""
        unchanged: set[str] = set()
        postings: dict[str, Postings] = {}
        for document in self.documents:
            place = previous._places.get(document.id) if previous is not None else None
            old = previous.documents[place] if previous is not None and place is not None else None
            if previous is not None and old is not None and (old is document or old.passages == document.passages):
                postings[document.id] = previous.postings[document.id]
                self._traits[document.id] = previous._traits[document.id]
                unchanged.add(document.id)
                continue
            known = previous.postings[document.id] if previous is not None and old is not None else None
            counted = cached[document.id] if document.id in cached else count_postings(document, old, known)
            postings[document.id] = counted
            self._traits[document.id] = read_traits(document, counted)
        self.postings = postings
        return unchanged

    def _merge(self, previous: SearchIndex | None, unchanged: set[str]) -> InvertedIndex:
        new = sum(len(document.passages) for document in self.documents if document.id not in unchanged)
        if previous is None or new > _MAX_UPDATED_SHARE * len(self.passages) or is_stale(previous._inverted):
            return build_inverted_index([self.postings[document.id] for document in self.documents])
        moved: Integers = np.full(len(previous.passages), -1, np.int32)
        for document in self.documents:
            if document.id in unchanged:
                first, size = self.first_passages[document.id], len(document.passages)
                old = previous.first_passages[document.id]
                moved[old : old + size] = np.arange(first, first + size)
        added = [
            (self.postings[document.id], self.first_passages[document.id])
            for document in self.documents
            if document.id not in unchanged
        ]
        return update_inverted_index(previous._inverted, moved, added)


def _number_first_passages(documents: Sequence[SearchDocument]) -> dict[str, int]:
    """The number of each document's first passage."""
    firsts, number = {}, 0
    for document in documents:
        firsts[document.id] = number
        number += len(document.passages)
    return firsts
