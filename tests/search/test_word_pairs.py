"""Pairs of words in the passages of an index."""

from __future__ import annotations

from fabula.search.index.inverted_index import InvertedIndex, build_inverted_index, count_postings
from fabula.search.model import Passage, Query, SearchDocument
from fabula.search.word_pairs import MAX_PASSAGES, find_word_pairs


def build(texts: list[str]) -> InvertedIndex:
    passages = tuple(Passage(f"p:{number}", text) for number, text in enumerate(texts))
    return build_inverted_index([count_postings(SearchDocument("d", passages))])


def find(texts: list[str], *parts: tuple[str, float]) -> tuple[list[tuple[int, float]], list[int]]:
    """The passages with a pair and how often, and the passages that were read."""
    read: list[int] = []

    def read_passage(number: int) -> str:
        read.append(number)
        return texts[number]

    _, passages, counts = find_word_pairs(build(texts), Query(parts=parts), read_passage)
    return list(zip(passages.tolist(), counts.tolist(), strict=True)), read


def test_only_passages_with_both_words_are_read() -> None:
    texts = ["old man, old men", "an old house", "a man", "the man was old"]
    found, read = find(texts, ("the old man", 1.0))
    assert found == [(0, 2.0)]
    assert read == [0, 3]


def test_pairs_of_the_heaviest_part_alone_count() -> None:
    texts = ["old man", "blue boat"]
    assert find(texts, ("a blue boat", 4.0), ("the old man", 1.0))[0] == [(1, 1.0)]


def test_a_pair_that_too_many_passages_may_hold_is_not_looked_for() -> None:
    texts = ["old man", *["blue boat"] * (MAX_PASSAGES + 1)]
    found, read = find(texts, ("the old man in the blue boat", 1.0))
    assert found == [(0, 1.0)]
    assert read == [0]


def test_a_query_without_pairs_finds_none() -> None:
    assert find(["old man"], ("the man", 1.0)) == ([], [])
    assert find(["old man"], ("old ferry", 1.0)) == ([], [])
    assert find(["old man"]) == ([], [])
