"""The search index: all passages of a project, found by their terms and, where there are vectors, by meaning.

An index never changes. The next one takes over from the previous one whatever belongs to a document that stayed the
same, and inside a changed document the counts of the passages that did.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, islice

import numpy as np
from numpy.typing import NDArray

from fabula.core.background import work_on
from fabula.core.messages import Sentence
from fabula.core.story import Timeline
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
from fabula.search.page_names import MAX_NAMES, find_name_passages, list_candidates
from fabula.search.page_query import add_name_scores, score_page_query, weigh_name
from fabula.search.ranking import add_semantic_scores, choose_best, score_question

WeighedPassages = tuple[Integers, NDArray[np.float32]]  # numbers of passages, and what each is worth
_UNKNOWN: WeighedPassages = np.zeros(0, np.int32), np.zeros(0, np.float32)  # not looked up yet
_MAX_CACHED_QUESTIONS = 16  # each takes four bytes for every passage
_MAX_CACHED_NAMES = 4096  # whose passages are known
StoryPlaces = tuple[NDArray[np.float64], NDArray[np.float64]]  # of documents: in reading order, and in time
_MAX_UPDATED_SHARE = 0.5  # of all passages may be new; above that, building the inverted index is no slower


class SearchIndex:
    """An immutable index of all passages, sharing with the previous one what did not change."""

    def __init__(
        self,
        documents: Sequence[SearchDocument],
        previous: SearchIndex | None = None,
        cached: Mapping[str, Postings] | None = None,
        after_each: Callable[[], None] = work_on,
    ) -> None:
        """Index documents; `cached` are postings read from the cache folder, by document id.

        `after_each` is called after each passage or document that is read.
        """
        self.documents = tuple(documents)
        self.passages: Sequence[Passage] = tuple(chain.from_iterable(document.passages for document in documents))
        self.by_id = {document.id: document for document in documents}
        self.passage_counts = np.array([len(document.passages) for document in documents], np.int64)
        self._firsts = [0, *accumulate(self.passage_counts.tolist())][:-1]
        self.first_passages: Mapping[str, int] = dict(zip(self.by_id, self._firsts, strict=True))
        self.cache_error: str | Sentence = ""  # why the cache folder could not be used
        self.postings: dict[str, Postings] = {}
        self._traits: dict[str, DocumentTraits] = {}
        known = self._count(previous, cached or {}, after_each)
        self._places = self._list_places(previous, known, after_each)
        self._inverted = self._merge(previous, known, after_each)
        self._table = build_passage_table([self._traits[document.id] for document in documents])
        # caches: the rendered text and title of passages by language, their signatures, search masks, the documents
        # that are conversations, the places of the others in a timeline, the scores of questions, and the passages with
        # each name
        self.rendered_passages: dict[tuple[int, str], tuple[str, str]] = {}
        self.signatures: dict[int, NDArray[np.uint64]] = {}
        self.masks: dict[tuple[object, ...], NDArray[np.bool_]] = {}
        self.conversations: Sequence[SearchDocument] | None = None
        self.story_places: tuple[Timeline, StoryPlaces] | None = None
        self._question_scores: dict[str, NDArray[np.float32]] = {}
        self._names: dict[str, WeighedPassages | None] = {}

    def search(
        self,
        query: Query,
        *,
        limit: int,
        allowed: NDArray[np.bool_] | None = None,
        semantic_scores: NDArray[np.float32] | None = None,
    ) -> list[SearchHit]:
        """The best of the allowed passages, best first, with scores from 0 to 1.

        `semantic_scores` says how near in meaning each passage is, 0 where that is unknown.
        """
        if not self.passages or limit <= 0:
            return []
        if not query.is_page:
            scores = score_question(self._inverted, self._table, query, self._read_passage)
        else:
            scores = score_page_query(self._inverted, self._table, query)
            scores = add_name_scores(scores, self._find_names(query, allowed), allowed)
        if semantic_scores is not None:
            scores = add_semantic_scores(self._table, scores, semantic_scores, allowed, is_page=query.is_page)
        if allowed is not None:
            scores = np.where(allowed, scores, 0.0)
        return choose_best(self._table, scores, limit)

    def search_again(self, question: str, *, limit: int, allowed: NDArray[np.bool_]) -> list[SearchHit]:
        """The best of the allowed passages for a question that request after request asks; its scores are cached."""
        if not self.passages:
            return []
        scores = self._question_scores.get(question)
        if scores is None:
            if len(self._question_scores) >= _MAX_CACHED_QUESTIONS:
                self._question_scores.clear()
            query = Query(parts=((question, 1.0),))
            scores = score_question(self._inverted, self._table, query, self._read_passage)
            self._question_scores[question] = scores
        return choose_best(self._table, np.where(allowed, scores, 0.0), limit)

    def document_of(self, number: int) -> SearchDocument:
        """The document of the passage with this number."""
        return self.documents[bisect_right(self._firsts, number) - 1]

    def find_passage(self, source: str) -> int | None:
        """The number of the passage that is this source of fragments."""
        place = self._places.get(source)
        return None if place is None else self.first_passages[place[0]] + place[1]

    @property
    def passage_ends(self) -> NDArray[np.int64]:
        """Where each passage ends in its document."""
        return self._table.ends

    @cached_property
    def document_numbers(self) -> Mapping[str, int]:
        """The number of each document, by its id."""
        return {document.id: number for number, document in enumerate(self.documents)}

    @cached_property
    def document_knowers(self) -> tuple[Sequence[frozenset[str] | None], Integers]:
        """All sets of people who know the first passage of a document, and the number of the set of each document."""
        sets: dict[frozenset[str] | None, int] = {}
        first = [self._traits[document.id].knowers[:1] or (None,) for document in self.documents]
        numbers = [sets.setdefault(known_to, len(sets)) for (known_to,) in first]
        return tuple(sets), np.array(numbers, np.int32)

    def knowers(self, document_id: str) -> tuple[tuple[frozenset[str] | None, ...], Integers]:
        """All sets of people who know passages of a document, and the number of the set of each passage."""
        traits = self._traits[document_id]
        return traits.knowers, traits.passage_knowers

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

    def _read_passage(self, number: int) -> str:
        return self.passages[number].text

    def _find_names(self, query: Query, allowed: NDArray[np.bool_] | None) -> Iterable[WeighedPassages]:
        """The passages with each name of a page, and with the other names of the same people."""
        looked_up = ((name, self._find_name_passages(name)) for name in list_candidates(query))
        found = dict(islice(((name, passages) for name, passages in looked_up if passages is not None), MAX_NAMES))
        others = {
            other: None
            for name in found
            for other, place in self._other_names.get(name, ())
            if allowed is None or allowed[place]
        }
        known = map(self._find_name_passages, islice((other for other in others if other not in found), MAX_NAMES))
        return [*found.values(), *(passages for passages in known if passages is not None)]

    @cached_property
    def _other_names(self) -> Mapping[str, Sequence[tuple[str, int]]]:
        """The other names of somebody by each of them, with the number of the passage that says so.

        A name that the book gives to two people belongs to neither.
        """
        said = [
            (full, other, first + place)
            for document, first in zip(self.documents, self._firsts, strict=True)
            for place, full, other in self._traits[document.id].introductions
        ]
        people: dict[str, set[str]] = {}
        for full, other, _ in said:
            people.setdefault(other, set()).add(full)
        names: dict[str, list[tuple[str, int]]] = {}
        for full, other, number in said:
            if len(people[other]) == 1:
                names.setdefault(full, []).append((other, number))
                names.setdefault(other, []).append((full, number))
        return names

    def _find_name_passages(self, name: str) -> WeighedPassages | None:
        """The passages with a name and what they are worth, cached; None where it is no name here."""
        known = self._names.get(name, _UNKNOWN)
        if known is not _UNKNOWN:
            return known
        if len(self._names) >= _MAX_CACHED_NAMES:
            self._names.clear()
        found = find_name_passages(self._inverted, name, self._read_passage)
        weighed = self._names[name] = (found, weigh_name(self._table, found)) if len(found) else None
        return weighed

    def _count(
        self, previous: SearchIndex | None, cached: Mapping[str, Postings], after_each: Callable[[], None]
    ) -> dict[str, int]:
        """Set the postings and traits of every document.

        Return how many passages each document took over from the previous index: all of them, or those to which more
        were added.
        """
        known_passages: dict[str, int] = {}
        for document in self.documents:
            key = document.id
            old = previous.by_id.get(key) if previous is not None else None
            known = previous.postings.get(key) if previous is not None else None
            if previous is not None and old is not None and (old is document or old.passages == document.passages):
                self.postings[key], self._traits[key] = previous.postings[key], previous._traits[key]
                known_passages[key] = len(document.passages)
            else:
                counted = self.postings[key] = cached.get(key) or count_postings(document, old, known, after_each)
                traits = previous._traits.get(key) if previous is not None else None
                same = (old, traits) if old is not None and traits is not None else None
                self._traits[key] = read_traits(document, counted, same, after_each)
                if old is not None and document.passages[: len(old.passages)] == old.passages:
                    known_passages[key] = len(old.passages)
        return known_passages

    def _list_places(
        self, previous: SearchIndex | None, known: Mapping[str, int], after_each: Callable[[], None]
    ) -> dict[str, tuple[str, int]]:
        """The document of each passage and its place in it, by source; both stay when another document changes."""
        places: dict[str, tuple[str, int]] = {}
        if previous is not None:
            places = dict(previous._places)
            for document in previous.documents:
                for passage in document.passages[known.get(document.id, 0) :]:
                    places.pop(passage.source, None)
        for document in self.documents:
            first = known.get(document.id, 0)
            for place, passage in enumerate(document.passages[first:], start=first):
                places[passage.source] = document.id, place
                after_each()
        return places

    def _merge(
        self, previous: SearchIndex | None, known: Mapping[str, int], after_each: Callable[[], None]
    ) -> InvertedIndex:
        changed = [one for one in self.documents if known.get(one.id, 0) < len(one.passages)]
        new = sum(len(document.passages) - known.get(document.id, 0) for document in changed)
        if previous is None or new > _MAX_UPDATED_SHARE * len(self.passages) or is_stale(previous._inverted):
            return build_inverted_index([self.postings[document.id] for document in self.documents], after_each)
        moved: Integers = np.full(len(previous.passages), -1, np.int32)
        for key, size in known.items():
            first, old = self.first_passages[key], previous.first_passages[key]
            moved[old : old + size] = np.arange(first, first + size)
        firsts = [(document.id, known.get(document.id, 0)) for document in changed]
        added = [(self.postings[key].rows_from(first), self.first_passages[key] + first) for key, first in firsts]
        return update_inverted_index(previous._inverted, moved, added, after_each)
