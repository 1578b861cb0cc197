"""Rank passages for a query.

Terms count as in BM25, with five additions. A passage shares in the terms of its neighbours, most in those before it,
because an answer seldom repeats the words of its question. Words that stand side by side in the question count once
more where they do so in a passage. A document that holds much of the query lifts all its passages, and so does a
session of which several passages score well. The speaker and the date count where the query names a person or a date.
Semantic scores, where there are any, are added on the scale of the best passage.

The time of a search depends on how many terms are looked up, so their number is limited: of a long query only the
rarest terms count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import sqrt
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fabula.search.dates import DateReference, find_date_references
from fabula.search.index.inverted_index import Entries, Integers, InvertedIndex, WeightedNumbers
from fabula.search.index.passage_table import (
    AFTER_SHARES,
    BEFORE_SHARES,
    NEARNESS_SHARES,
    Numbers,
    PassageTable,
    share_with_neighbours,
)
from fabula.search.model import Query, ReadPassage, SearchHit
from fabula.search.word_pairs import MAX_PAIRS, find_word_pairs
from fabula.text.terms import EXACT_PREFIX, count_terms, is_shared_term, is_single_character
from fabula.text.word_list import load_word_lists

K1, B = 1.0, 0.6  # BM25: the saturation of repeated terms, and the weight of a passage's length
DOCUMENT_B = 0.75  # the same for a document's length
PAIR_WEIGHT = 0.4  # of two words that stand side by side, beside each of them
EXACT_WEIGHT = 0.1  # of a word as written, beside its stem
CHARACTER_WEIGHT = 1.5  # of a single character, beside its pairs
DOCUMENT_WEIGHT = 0.3
SESSION_WEIGHT = 0.25  # by which the session whose best passages score most lifts them all
SESSION_PASSAGES = 6  # of a session, the best ones, that count for it,
SESSION_CANDIDATES = 200  # where they are among so many of all
SPEAKER_WEIGHT = 2.5
DATE_WEIGHT = 1.4
QUESTION_PENALTY = 0.3  # of a passage that ends with a question, but never more than half of its score
SEMANTIC_WEIGHT = 0.25  # of the passage nearest in meaning, where the best passage by its words has 1,
PAGE_SEMANTIC_WEIGHT = 0.8  # and for a page that is being written
REPEAT_PENALTY = 0.05  # the power by which further passages of one document count less
DAYS_AFTER = 7  # days after a date in which it is still spoken of
MAX_CHARACTERS = 12_000  # of a query part that are read, half from its beginning and half from its end
MAX_TERMS = 32  # of one sort that are looked up,
MAX_CELLS = 1_000_000  # or fewer where there are very many passages
MAX_DATE_CHARACTERS = 400  # of a query part in which dates are looked for
MAX_DATES = 4
NAME_WEIGHT = 0.5  # added to a term that is part of a name
_QUESTION_WORDS = re.compile("|".join(sorted(load_word_lists("stop_words")["questions"], key=len, reverse=True)))
_SHARED_REACH = 5  # passages among which a shared term is spread
_MIN_SPEAKER_TERM = 3  # letters of a term by which a speaker is recognised


def score_question(index: InvertedIndex, table: PassageTable, query: Query, read_passage: ReadPassage) -> Numbers:
    """The score of each passage by its terms, its speaker and its date; 0 where nothing matches."""
    terms = _make_query_terms(index, query, table.slot_count, with_dates=table.has_dates)
    numbers, weights = terms.shared
    scores = _score_shared(table, index.find_postings(numbers), weights)
    pairs = find_word_pairs(index, query, read_passage)
    scores += PAIR_WEIGHT * _score_shared(table, pairs, np.ones(MAX_PAIRS, np.float32))
    scores += EXACT_WEIGHT * _score_own(index, table, terms.exact)
    scores += CHARACTER_WEIGHT * _score_own(index, table, terms.characters)
    if len(table.document_length) > 1:
        documents = _score_documents(index, table, terms.shared)
        documents = documents + CHARACTER_WEIGHT * _score_documents(index, table, terms.characters)
        scores += DOCUMENT_WEIGHT * documents[table.documents]
    speakers = np.array([terms.weigh_speaker(name) for name in table.speaker_names], np.float32)
    scores += SPEAKER_WEIGHT * np.minimum(speakers, 1.0)[table.speakers]
    for date in terms.dates:
        scores += DATE_WEIGHT * _score_date(table, date)
    scores = scores - np.minimum(QUESTION_PENALTY * table.ends_with_question, scores / 2)
    return np.asarray(_lift_sessions(table, scores), np.float32)


def _lift_sessions(table: PassageTable, scores: Numbers) -> Numbers:
    """The scores, higher where several passages of one session score well: it is about what is asked for."""
    count = min(SESSION_CANDIDATES, table.size)
    best = np.argpartition(-scores, count - 1)[:count] if count else np.arange(0)
    best = best[np.lexsort((best, -scores[best]))]
    sessions = table.sessions[best]
    places = _count_repeats(sessions)
    worth = np.where(places <= SESSION_PASSAGES, scores[best] / places, 0.0)
    sums = np.bincount(sessions, worth, int(table.sessions[-1]) + 1 if table.size else 1)
    top = sums.max()
    return np.asarray(scores * (1 + SESSION_WEIGHT * sums[table.sessions] / top)) if top > 0 else scores


def _rarity(passages: NDArray[np.int64] | int, size: int) -> NDArray[np.float32]:
    """The inverse document frequency of terms that so many passages of `size` hold."""
    return np.log(1 + (size - passages + 0.5) / (np.asarray(passages) + 0.5)).astype(np.float32)


def _score_shared(table: PassageTable, entries: Entries, weights: Numbers) -> Numbers:
    """The score of the terms, or pairs of words, that a passage and its neighbours hold together."""
    rows, passages, counts = entries
    if not len(rows):
        return np.zeros(table.size, np.float32)
    own = rows * table.slot_count + table.slots[passages]
    cells, shares = [own], [counts]
    for distance, (after, before) in enumerate(zip(AFTER_SHARES, BEFORE_SHARES, strict=True), 1):
        cells += [own + distance, own - distance]
        shares += [after * counts, before * counts]
    cell, count = _sum_cells(np.concatenate(cells), np.concatenate(shares), len(weights) * table.slot_count)
    row, slot = np.divmod(cell, table.slot_count)
    is_passage = table.passage_at_slot[slot] >= 0
    row, passage, count = row[is_passage], table.passage_at_slot[slot[is_passage]], count[is_passage]
    rarity = _rarity(np.bincount(row, minlength=len(weights)), table.size)
    norm = _length_norm(table.relative_length[passage], B)
    scores = ((K1 + 1) * weights * rarity)[row] * count / (count + norm)
    return np.bincount(passage, scores, table.size).astype(np.float32)


def _sum_cells(cells: NDArray[np.int64], values: Numbers, size: int) -> tuple[NDArray[np.int64], Numbers]:
    """Each cell once with the sum of its values; the time depends on the values, not on `size`."""
    at = np.arange(len(cells))
    last = np.empty(size, np.int32)
    last[cells] = at
    owner = last[cells]
    sums = np.bincount(owner, values, len(cells))
    is_owner = owner == at
    return cells[is_owner], sums[is_owner].astype(np.float32)


def _length_norm(length: Numbers, b: float) -> Numbers:
    return np.float32(K1) * (np.float32(1 - b) + np.float32(b) * length)


def _score_own(index: InvertedIndex, table: PassageTable, terms: WeightedNumbers) -> Numbers:
    """The score of the terms that a passage holds itself."""
    numbers, weights = terms
    if not len(numbers):
        return np.zeros(table.size, np.float32)
    rarity = _rarity(index.count_passages(numbers), table.size)
    return score_terms(index, table, numbers, (K1 + 1) * weights * rarity)


def score_terms(index: InvertedIndex, table: PassageTable, numbers: Integers, worth: NDArray[Any]) -> Numbers:
    """The sum of what the terms of each passage are worth, as in BM25."""
    rows, passages, counts = index.find_postings(numbers)
    scores = worth[rows] * counts / (counts + _length_norm(table.relative_length[passages], B))
    return np.bincount(passages, scores, table.size).astype(np.float32)


def _score_documents(index: InvertedIndex, table: PassageTable, terms: WeightedNumbers) -> Numbers:
    """The score of whole documents."""
    (numbers, weights), size = terms, len(table.document_length)
    if not len(numbers):
        return np.zeros(size, np.float32)
    rows, passages, counts = index.find_postings(numbers)
    cells = np.bincount(rows * size + table.documents[passages], counts, len(numbers) * size)
    count = cells.reshape(len(numbers), size)
    rarity = _rarity(np.count_nonzero(count, axis=1), size)
    saturation = count / (count + _length_norm(table.document_length, DOCUMENT_B))
    return np.asarray(((K1 + 1) * weights * rarity) @ saturation, np.float32)


def _score_date(table: PassageTable, date: DateReference) -> Numbers:
    """The score of passages by a date; the fewer passages have it, the more it counts."""
    days = table.days
    has_date = days > 0
    if not has_date.any():
        return np.zeros(table.size, np.float32)
    if date.first_day:
        since = has_date & (days >= date.first_day)
        inside, soon_after = since & (days <= date.last_day), since & (days <= date.last_day + DAYS_AFTER)
        return _score_mask(inside) + np.float32(0.5) * _score_mask(soon_after)
    dates = (days - 719163).astype("datetime64[D]")  # 719163 is the ordinal of 1970-01-01
    months = dates.astype("datetime64[M]").astype(np.int64)
    scores = np.zeros(table.size, np.float32)
    mask = has_date
    if date.year:
        mask = mask & (months // 12 + 1970 == date.year)
        scores += _score_mask(mask)
    if date.month:
        mask = mask & (months % 12 + 1 == date.month)
        scores += _score_mask(mask)
    if date.day:
        scores += _score_mask(mask & ((dates - dates.astype("datetime64[M]")).astype(np.int64) + 1 == date.day))
    return scores


def _score_mask(mask: NDArray[np.bool_]) -> Numbers:
    return mask * np.float32(_rarity(int(mask.sum()), len(mask)))


def add_semantic_scores(
    table: PassageTable,
    scores: Numbers,
    semantic_scores: Numbers,
    allowed: NDArray[np.bool_] | None = None,
    *,
    is_page: bool = False,
) -> Numbers:
    """Scores by words, and beside them a share for passages nearer in meaning than the average.

    A passage without a vector counts as neither near nor far.
    """
    is_known = semantic_scores != 0
    average = semantic_scores[is_known].mean() if is_known.any() else 0.0
    nearness = np.where(is_known, semantic_scores - average, 0.0).astype(np.float32)
    if not is_page:
        row = np.zeros(table.slot_count, np.float32)
        row[table.slots] = nearness
        nearness = share_with_neighbours(row, NEARNESS_SHARES, NEARNESS_SHARES)[table.slots]
    nearness = np.maximum(nearness, 0)
    best, nearest = (find_best(numbers, allowed) or 1.0 for numbers in (scores, nearness))
    weight = PAGE_SEMANTIC_WEIGHT if is_page else SEMANTIC_WEIGHT
    return np.asarray(scores + np.float32(weight * best / nearest) * nearness)


def find_best(scores: Numbers, allowed: NDArray[np.bool_] | None) -> float:
    """The highest score of an allowed passage; 0 where there is none."""
    return float((scores if allowed is None else scores[allowed]).max(initial=0.0))


def choose_best(table: PassageTable, scores: Numbers, limit: int) -> list[SearchHit]:
    """The best passages, where each further passage of one document counts a little less."""
    order, candidates = np.flatnonzero(scores > 0), 2 * limit + 20
    if candidates < len(order):
        order = order[np.argpartition(-scores[order], candidates - 1)[:candidates]]
    order = order[np.lexsort((order, -scores[order]))]
    if not len(order):
        return []
    weighted = scores[order] * _count_repeats(table.documents[order]) ** -REPEAT_PENALTY
    best = np.lexsort((order, -weighted))[:limit]
    numbers, shares = order[best].tolist(), (weighted[best] / weighted[best[0]]).tolist()
    return [SearchHit(number, share) for number, share in zip(numbers, shares, strict=True)]


def _count_repeats(documents: NDArray[np.int32]) -> NDArray[np.float64]:
    """How often the document, or the session, of each passage has occurred so far, itself included."""
    grouped = np.argsort(documents, kind="stable")
    ordered = documents[grouped]
    first = np.searchsorted(ordered, ordered)  # where the passages of each document begin
    counts = np.empty(len(documents))
    counts[grouped] = np.arange(1, len(documents) + 1) - first
    return counts


class _QueryTerms(Struct, frozen=True, eq=False):
    """The terms of a query by their sort, and its dates."""

    shared: WeightedNumbers
    exact: WeightedNumbers
    characters: WeightedNumbers
    weights: Mapping[str, float]  # of all shared terms of the query
    dates: list[DateReference]

    def weigh_speaker(self, name: str) -> float:
        """How much the query is about the speaker with this name."""
        return max((self.weights[term] for term in _split_speaker_name(name) if term in self.weights), default=0.0)


def _make_query_terms(index: InvertedIndex, query: Query, slot_count: int, *, with_dates: bool = True) -> _QueryTerms:
    """The terms of a query that are worth looking up in a passage table with so many slots."""
    top = max((weight for _, weight in query.parts), default=0.0)
    weights: dict[str, float] = {}
    dates: list[DateReference] = []
    for part, weight in query.parts:
        if weight > 0:
            text = _cut_middle(part)
            for term, count in count_terms(_QUESTION_WORDS.sub(" ", text)).items():
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
    return _QueryTerms(
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
