"""People and places of a page: the names in its text, and the passages that name them.

Names are found without a codex. In English a name is capitalised, and the book hardly ever writes it otherwise. In
Chinese the segmenter tags names; beside those it knows, a pair of characters is a name that begins with a surname and
that the book keeps together. Those found by mistake name few passages, or none, and so do no harm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from fabula.search.index.inverted_index import Integers, InvertedIndex
from fabula.search.model import Query, ReadPassage
from fabula.text.names.surnames import SURNAMES
from fabula.text.segmenter import load_segmenter
from fabula.text.terms import count_shared_terms

MAX_NAMES = 16  # of a page that count,
MAX_CANDIDATES = 96  # of as many words that can be names
MIN_PART_SHARE = 0.3  # of the weight of the heaviest part has a part whose names count
MIN_CAPITALISED_SHARE = 0.6  # of the passages with a word write a name with its capital
MIN_TOGETHER_SHARE = 0.3  # of the passages with the rarer character of a Chinese name hold the name
MIN_PASSAGES = 3  # that hold a Chinese name which the segmenter does not know
_CAPITALISED = re.compile(r"\b[A-ZÀ-Þ][a-zß-ÿ]+(?:-[A-ZÀ-Þ][a-zß-ÿ]+)*")
_HAN = re.compile("[\u3400-\u9fff]{2,}")
_NAME_TAGS = ("nr", "ns", "nt", "nz")


def list_candidates(query: Query) -> list[str]:
    """What can be a name on a page: the names that are given with it, then words of its text, the nearest first."""
    heaviest = max((weight for _, weight in query.parts), default=0.0)
    texts = (text for text, weight in query.parts if weight >= MIN_PART_SHARE * heaviest)
    names = dict.fromkeys([*query.names, *(name for text in texts for name in _find_candidates(text))])
    return list(names)[:MAX_CANDIDATES]


@lru_cache(maxsize=512)
def _find_candidates(text: str) -> tuple[str, ...]:
    """What can be a name in a text."""
    found = dict.fromkeys(match[0] for match in _CAPITALISED.finditer(text))
    for run in _HAN.findall(text):
        found |= dict.fromkeys(_find_chinese_candidates(run))
    return tuple(found)


def _find_chinese_candidates(run: str) -> Iterator[str]:
    yield from (word for word, tag in load_segmenter().tag(run) if len(word) > 1 and tag.startswith(_NAME_TAGS))
    yield from (run[at : at + 2] for at in range(len(run) - 1) if run[at] in SURNAMES)


def find_name_passages(index: InvertedIndex, name: str, read_passage: ReadPassage) -> Integers:
    """The numbers of the passages with a name; none where the book does not use it as one."""
    words, characters = count_shared_terms(name)
    terms = [index.term_numbers.get(term, -1) for term in words]
    if not terms or min(terms) < 0:
        return np.zeros(0, np.int32)
    numbers = np.array(terms, np.int32)
    rarest = numbers[np.argmin(index.count_passages(numbers))]
    _, passages, _ = index.find_postings(np.array([rarest]))
    holders = np.array([number for number in passages.tolist() if name in read_passage(number)], np.int32)
    if characters:
        singles = np.array([index.term_numbers[character] for character in characters], np.int32)
        together = MIN_TOGETHER_SHARE * int(index.count_passages(singles).min())
        is_name = len(name) > 2 or len(holders) >= max(together, MIN_PASSAGES) or _is_tagged(name)
    else:
        is_name = len(holders) >= MIN_CAPITALISED_SHARE * len(passages)
    return holders if is_name else np.zeros(0, np.int32)


@lru_cache(maxsize=4096)
def _is_tagged(name: str) -> bool:
    """Does the segmenter know a word as a name?"""
    tagged = load_segmenter().tag(name)
    return len(tagged) == 1 and tagged[0][1].startswith(_NAME_TAGS)
