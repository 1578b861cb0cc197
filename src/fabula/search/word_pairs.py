"""Pairs of words: two words that stand side by side in a question say more where they do so in a passage too.

"The old man" is somebody; an old house and a man are nobody. The inverted index knows single words, so the passages
that hold both words of a pair are read, those of the rarest pairs first and not more than a hundred or so. Text without
spaces needs none of this: its terms are pairs already.
"""

from __future__ import annotations

import numpy as np

from fabula.search.index.inverted_index import Entries, Integers, InvertedIndex
from fabula.search.model import Query, ReadPassage
from fabula.text.terms import list_word_pairs

MAX_PAIRS = 8  # of a question that are looked for,
MAX_CHARACTERS = 400  # in so many of its characters,
MAX_PASSAGES = 120  # and in so many passages


def find_word_pairs(index: InvertedIndex, query: Query, read_passage: ReadPassage) -> Entries:
    """All entries of the pairs in the heaviest part of a query."""
    top = max((weight for _, weight in query.parts), default=0.0)
    text = "\n".join(part[:MAX_CHARACTERS] for part, weight in query.parts if weight == top)
    pairs = list(dict.fromkeys(filter(all, list_word_pairs(text[:MAX_CHARACTERS]))))[:MAX_PAIRS]
    holders = [(pair, _find_holders(index, pair)) for pair in pairs]
    found: list[tuple[int, int, int]] = []
    left = MAX_PASSAGES
    for row, (pair, passages) in enumerate(sorted(holders, key=lambda each: len(each[1]))):
        if len(passages) > left:
            break
        left -= len(passages)
        counts = ((number, list_word_pairs(read_passage(number)).count(pair)) for number in passages.tolist())
        found.extend((row, number, count) for number, count in counts if count)
    rows, numbers, counted = np.array(found, np.int64).reshape(-1, 3).T
    return rows, numbers.astype(np.int32), counted.astype(np.float32)


def _find_holders(index: InvertedIndex, pair: tuple[str, str]) -> Integers:
    """The numbers of the passages that hold both words of a pair, side by side or not."""
    terms = [index.term_numbers.get(term, -1) for term in pair]
    if min(terms) < 0:
        return np.zeros(0, np.int32)
    rows, passages, _ = index.find_postings(np.array(terms, np.int32))
    first, second = passages[rows == 0], passages[rows == 1]
    return np.asarray(first[np.isin(first, second, kind="table")], np.int32)
