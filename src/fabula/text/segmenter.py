"""The Chinese segmenter, which cuts text into words and tags them by their part of speech."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rjieba import Jieba

DICTIONARY_WORDS = 60_101_967  # the sum of the frequencies in the dictionary


@lru_cache(maxsize=1)
def load_segmenter() -> Jieba:
    """The one segmenter of the process, with the words of its dictionary alone: add no names to it."""
    from rjieba import Jieba  # it takes memory and time, and English stories never need it

    return Jieba()


@lru_cache(maxsize=8192)
def find_tag(word: str) -> str:
    """The part-of-speech tag of a word in the dictionary; "" for an unknown word."""
    tagged = load_segmenter().tag(word, False)
    return tagged[0][1] if len(tagged) == 1 else ""


@lru_cache(maxsize=32768)
def weigh_word(word: str) -> float:
    """The logarithm of a word's share of all words; a cut with the highest sum is the likeliest one."""
    return log(load_segmenter().suggest_freq(word) / DICTIONARY_WORDS)


def weigh_cut(words: Iterable[str]) -> float:
    """How likely a cut of a text into these words is."""
    return sum(map(weigh_word, words))
