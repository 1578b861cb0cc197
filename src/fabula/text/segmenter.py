"""The Chinese segmenter, which cuts text into words and tags them by their part of speech."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rjieba import Jieba


def make_segmenter() -> Jieba:
    """A segmenter of one's own, to which names can be added."""
    from rjieba import Jieba  # it takes memory and time, and English stories never need it

    return Jieba()


@lru_cache(maxsize=1)
def load_segmenter() -> Jieba:
    """The shared segmenter with the words of its dictionary alone: add no names to it."""
    return make_segmenter()


@lru_cache(maxsize=8192)
def find_tag(word: str) -> str:
    """The part-of-speech tag of a word in the dictionary; "" for an unknown word."""
    tagged = load_segmenter().tag(word, False)
    return tagged[0][1] if len(tagged) == 1 else ""
