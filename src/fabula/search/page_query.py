"""Score passages for a page that is being written: what a scene needs from long ago stands in a single passage.

A question shares its words with the conversation around its answer. A page shares most of its words with every other
page of the book. So here neighbouring passages share nothing, a chapter does not lift its passages, only the most
telling words are looked up, and rare ones count for more: a name and a thing together say more than any number of
doors and candles.

Whoever and whatever the page names has a share of its own. What a scene needs to know of somebody often shares no word
with it but the name, so among the passages with a name those count that tell a lasting detail (`text/telling.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from fabula.search.index.inverted_index import Integers, InvertedIndex, WeightedNumbers
from fabula.search.index.passage_table import Numbers, PassageTable
from fabula.search.model import Query
from fabula.search.ranking import find_best, score_terms
from fabula.text.terms import count_shared_terms

MAX_WORDS = 24  # of a page that are looked up, and twice as many single characters
RARITY_POWER = 1.5
NAME_WEIGHT = 0.5  # of the terms of a name
NAMED_WEIGHT = 0.3  # of a passage that names somebody of the page, where the best passage by its words has 1,
TELLING_WEIGHT = 0.9  # and of a lasting detail that it tells
NAME_RARITY_POWER = 0.5
_COUNT_WEIGHTS = np.sqrt(np.arange(4, dtype=np.float32))  # of a term that occurs 0 to 3 times in the query
_NO_TERMS: WeightedNumbers = np.zeros(0, np.int32), np.zeros(0, np.float32)


def score_page_query(index: InvertedIndex, table: PassageTable, query: Query) -> Numbers:
    """How much of what a page speaks of each passage holds; 0 where it holds nothing."""
    parts = [(_number_terms(index, text), weight) for text, weight in query.parts]
    parts += [(_number_terms(index, name), NAME_WEIGHT) for name in query.names]
    words = _sum_weights([(words, weight) for (words, _), weight in parts])
    characters = _sum_weights([(characters, weight) for (_, characters), weight in parts])
    scores = _score_terms(index, table, *words, MAX_WORDS)
    return scores + _score_terms(index, table, *characters, 2 * MAX_WORDS) if len(characters[0]) else scores


def weigh_name(table: PassageTable, passages: Integers) -> Numbers:
    """What the passages with a name are worth, where the best passage by its words is worth 1."""
    rarity = np.log1p(table.size / max(len(passages), 1)) / np.log1p(table.size)
    worth = rarity**NAME_RARITY_POWER * (NAMED_WEIGHT + TELLING_WEIGHT * table.telling[passages])
    return np.asarray(worth, np.float32)


def add_name_scores(
    scores: Numbers, names: Iterable[tuple[Integers, Numbers]], allowed: NDArray[np.bool_] | None
) -> Numbers:
    """Scores by words, and beside them the share of passages that name somebody of the page.

    `names` are the passages with each name and what they are worth. A passage with several names counts by the best.
    """
    best = find_best(scores, allowed)
    shares = np.zeros(len(scores), np.float32)
    for passages, worth in names:
        shares[passages] = np.maximum(shares[passages], worth)
    return scores + np.float32(best or 1.0) * shares


def _number_terms(index: InvertedIndex, text: str) -> tuple[WeightedNumbers, WeightedNumbers]:
    """The numbers and weights of the words and of the single characters of a text, cached."""
    numbers = index.query_cache.recent.get(text)
    return numbers if numbers is not None else index.query_cache.get_or_compute(text, partial(_count_text, index))


def _count_text(index: InvertedIndex, text: str) -> tuple[WeightedNumbers, WeightedNumbers]:
    words, characters = count_shared_terms(text)
    return _weigh_counts(index, words), _weigh_counts(index, characters)


def _weigh_counts(index: InvertedIndex, counts: Mapping[str, int]) -> WeightedNumbers:
    if not counts:
        return _NO_TERMS
    numbers = np.fromiter(map(index.term_numbers.get, counts, repeat(-1)), np.int32, len(counts))
    occurrences = np.fromiter(counts.values(), np.int32, len(counts))
    is_known = numbers >= 0
    return numbers[is_known], _COUNT_WEIGHTS[np.minimum(occurrences[is_known], 3)]


def _sum_weights(parts: Sequence[tuple[WeightedNumbers, float]]) -> WeightedNumbers:
    """Each term once, with the sum of its weights."""
    parts = [(terms, weight) for terms, weight in parts if len(terms[0])]
    if not parts:
        return _NO_TERMS
    numbers = np.concatenate([numbers for (numbers, _), _ in parts])
    weights = np.concatenate([weights * np.float32(weight) for (_, weights), weight in parts])
    distinct, places = np.unique(numbers, return_inverse=True)
    return distinct, np.bincount(places, weights).astype(np.float32)


def _score_terms(index: InvertedIndex, table: PassageTable, numbers: Integers, weights: Numbers, limit: int) -> Numbers:
    if not len(numbers):
        return np.zeros(table.size, np.float32)
    passages = index.count_passages(numbers)
    rarity = np.log(1 + (table.size - passages + 0.5) / (passages + 0.5)) ** RARITY_POWER
    worth = np.where(passages > 0, weights * rarity, 0.0)
    best = np.lexsort((numbers, -worth))[:limit]
    return score_terms(index, table, numbers[best], worth[best])
