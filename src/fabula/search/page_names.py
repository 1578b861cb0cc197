"""People and places of a page: the names in its text, and the passages that name them.

Names are found without a codex. In English a name is capitalised, and the book hardly ever writes the same word
otherwise; other words with its stem do not matter, so that pipes do not hide Pip. In Chinese the segmenter tags names;
beside those it knows, a pair of characters is a name that begins with a surname and that the book keeps together.
Those found by mistake name few passages, or none, and so do no harm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache, reduce

import numpy as np

from fabula.search.index.inverted_index import Integers, InvertedIndex
from fabula.search.model import Query, ReadPassage
from fabula.text.names.surnames import SURNAMES
from fabula.text.segmenter import load_segmenter
from fabula.text.terms import EXACT_PREFIX, count_shared_terms, count_terms

MAX_NAMES = 16  # of a page that count,
MAX_CANDIDATES = 96  # of as many words that can be names
MIN_PART_SHARE = 0.3  # of the weight of the heaviest part has a part whose names count
MIN_CAPITALISED_SHARE = 0.6  # of the passages with a word write a name with its capital
MIN_TOGETHER_SHARE = 0.3  # of the passages with the rarer character of a Chinese name hold the name
MIN_PASSAGES = 3  # that hold a Chinese name which the segmenter does not know
# words that may begin with a capital: other words begin with one of these small letters, and most of them do
_WORD = re.compile(r"(?<!\w)(?:[a-z]['’])?[^\W\d_a-z\u2e80-\uffff][^\W\d_]*(?:['’-][^\W\d_]+)*")
_ENDING = re.compile(r"['’][a-z]+$")  # Pip's, don't
_HAN = re.compile("[\u3400-\u9fff]{2,}")
_NAME_TAGS = ("nr", "ns", "nt", "nz")
_APOSTROPHES = ("'", "’")
_NOWHERE: Integers = np.zeros(0, np.int32)


def list_candidates(query: Query) -> list[str]:
    """What can be a name on a page: the names that are given with it, then words of its text, the nearest first."""
    heaviest = max((weight for _, weight in query.parts), default=0.0)
    texts = (text for text, weight in query.parts if weight >= MIN_PART_SHARE * heaviest)
    names = dict.fromkeys([*query.names, *(name for text in texts for name in _find_candidates(text))])
    return list(names)[:MAX_CANDIDATES]


@lru_cache(maxsize=512)
def _find_candidates(text: str) -> tuple[str, ...]:
    """What can be a name in a text."""
    found = dict.fromkeys(_find_capitalised(text))
    for run in _HAN.findall(text):
        found |= dict.fromkeys(_find_chinese_candidates(run))
    return tuple(found)


def _find_capitalised(text: str) -> Iterator[str]:
    """The words with a capital; of words joined by a hyphen those with one, together where all have it."""
    for found in dict.fromkeys(_WORD.findall(text)):
        word = _ENDING.sub("", found)
        parts = word.split("-")
        capitalised = [part for part in parts if _is_capitalised(part)]
        yield from [word] if len(capitalised) == len(parts) else capitalised


def _is_capitalised(word: str) -> bool:
    """Is a word written as a name is: Pip, McGregor, O'Brien, d'Artagnan?"""
    begins = word[:1].isupper() or (word[1:2] in _APOSTROPHES and word[2:3].isupper())
    return begins and len(word) > 1 and not word.isupper()


def _find_chinese_candidates(run: str) -> Iterator[str]:
    yield from (word for word, tag in load_segmenter().tag(run) if len(word) > 1 and tag.startswith(_NAME_TAGS))
    yield from (run[at : at + 2] for at in range(len(run) - 1) if run[at] in SURNAMES)


def find_name_passages(index: InvertedIndex, name: str, read_passage: ReadPassage) -> Integers:
    """The numbers of the passages with a name; none where the book does not use it as one."""
    return (_find_unspaced_name if _HAN.search(name) else _find_spaced_name)(index, name, read_passage)


def _find_spaced_name(index: InvertedIndex, name: str, read_passage: ReadPassage) -> Integers:
    words = [term for term in count_terms(name) if term[0] == EXACT_PREFIX]
    if not words:
        return _NOWHERE
    passages = reduce(np.intersect1d, (_find_word(index, word) for word in words))
    spellings = {name, name.replace("'", "’"), name.replace("’", "'")}
    texts = {number: read_passage(number) for number in passages.tolist()}
    holders = [number for number, text in texts.items() if any(spelling in text for spelling in spellings)]
    written = len(texts)  # with the name, in capitals or not
    if len(words) > 1 and holders:
        folded = {spelling.lower() for spelling in spellings}
        written = sum(any(spelling in text.lower() for spelling in folded) for text in texts.values())
    return np.array(holders, np.int32) if len(holders) >= MIN_CAPITALISED_SHARE * written else _NOWHERE


def _find_word(index: InvertedIndex, term: str) -> Integers:
    """The passages with a word, in capitals or not, also where it stands in the genitive."""
    spellings = {term, term.replace("'", "’"), term.replace("’", "'")}
    forms = (spelling + ending for spelling in spellings for ending in ("", "'s", "’s"))
    numbers = np.array([index.term_numbers[form] for form in forms if form in index.term_numbers], np.int32)
    return np.unique(index.find_postings(numbers)[1])


def _find_unspaced_name(index: InvertedIndex, name: str, read_passage: ReadPassage) -> Integers:
    pairs, characters = count_shared_terms(name)
    terms = [index.term_numbers.get(term, -1) for term in pairs]
    if not terms or min(terms) < 0:
        return _NOWHERE
    numbers = np.array(terms, np.int32)
    rarest = numbers[np.argmin(index.count_passages(numbers))]
    _, passages, _ = index.find_postings(np.array([rarest]))
    holders = np.array([number for number in passages.tolist() if name in read_passage(number)], np.int32)
    singles = np.array([index.term_numbers[character] for character in characters], np.int32)
    together = MIN_TOGETHER_SHARE * int(index.count_passages(singles).min())
    is_name = len(name) > 2 or len(holders) >= max(together, MIN_PASSAGES) or _is_tagged(name)
    return holders if is_name else _NOWHERE


@lru_cache(maxsize=4096)
def _is_tagged(name: str) -> bool:
    """Does the segmenter know a word as a name?"""
    tagged = load_segmenter().tag(name)
    return len(tagged) == 1 and tagged[0][1].startswith(_NAME_TAGS)
