"""Split a text into the terms that search and memory compare.

Text without spaces has no words to go by; its characters, alone and in pairs, do nearly as well. Search uses two sorts
of terms. Shared terms say what a text is about, so the passages beside it share in them: stems of words, pairs of
characters. Exact terms count only in the passage that holds them: words as written, single characters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain, pairwise
from operator import add

from fabula.text.stemmer import stem
from fabula.text.word_list import load_word_lists

EXACT_PREFIX = "="  # marks a word as it is written, beside its stem
_FIRST_UNSPACED = "\u2e80"  # from here on: scripts without spaces, and Hangul, whose words change at their ends
_UNSPACED = rf"[^\W\d_\0-{chr(ord(_FIRST_UNSPACED) - 1)}]+"
_SPACED = rf"[^\W\d_{_FIRST_UNSPACED}-\U0010ffff]+"
_UNSPACED_CHARACTER = re.compile(f"[{_FIRST_UNSPACED}-\U0010ffff]")
_WORD = re.compile(rf"{_UNSPACED}|{_SPACED}(?:['’]{_SPACED})*|\d+")
STOP_WORDS = load_word_lists("stop_words")["terms"]


def split_terms(text: str) -> list[str]:
    """The words of a text, and the character pairs of its unspaced parts."""
    terms: list[str] = []
    for word in _WORD.findall(text):
        if word[0] >= _FIRST_UNSPACED:
            terms.extend(_split_pairs(word))
        else:
            terms.append(word.lower())
    return terms


def count_terms(text: str) -> Mapping[str, int]:
    """How often each shared and each exact term occurs in a text."""
    words, runs = _split_runs(text)
    terms = chain.from_iterable(map(_make_terms, words))
    return Counter(chain(terms, chain.from_iterable(runs), _pair_characters(runs)) if runs else terms)


def count_shared_terms(text: str) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Of what `count_terms` counts, the shared terms, and apart from them the single characters."""
    words, runs = _split_runs(text)
    stems = filter(None, map(_make_shared_term, words))
    shared = Counter(chain(stems, _pair_characters(runs)) if runs else stems)
    return shared, Counter(chain.from_iterable(runs)) if runs else {}


def find_shared_terms(text: str) -> frozenset[str]:
    """The shared terms of a text, each once."""
    words, runs = _split_runs(text)
    terms = set(map(_make_shared_term, words))
    if runs:
        terms.update(_pair_characters(runs))
    terms.discard("")
    return frozenset(terms)


def list_shared_terms(text: str) -> list[tuple[int, str]] | None:
    """The shared terms of a text with the offsets of their words; None for unspaced text, which has no words."""
    lowered = text.lower()
    if len(lowered) != len(text) or _has_unspaced(lowered):
        return None
    return [(word.start(), term) for word in _WORD.finditer(lowered) if (term := _make_shared_term(word[0]))]


def list_word_pairs(text: str) -> list[tuple[str, str]]:
    """The shared terms of each two words that stand side by side; "" for a stop word and for unspaced text."""
    words = _WORD.findall(text.lower())
    return [*pairwise([_make_shared_term(word) if word[0] < _FIRST_UNSPACED else "" for word in words])]


def _has_unspaced(text: str) -> bool:
    """Whether a text has a character, also a digit, of the scripts that are taken for unspaced."""
    return not text.isascii() and _UNSPACED_CHARACTER.search(text) is not None


def _split_runs(text: str) -> tuple[list[str], list[str]]:
    """The words of a text, and its runs of unspaced characters."""
    lowered = text.lower()
    found = _WORD.findall(lowered)
    if not _has_unspaced(lowered):
        return found, []
    return [word for word in found if word[0] < _FIRST_UNSPACED], [run for run in found if run[0] >= _FIRST_UNSPACED]


def _pair_characters(runs: Iterable[str]) -> Iterator[str]:
    """The pairs of neighbouring characters in each run."""
    return chain.from_iterable(map(add, run, run[1:]) for run in runs)


@lru_cache(maxsize=1 << 16)
def _make_terms(word: str) -> tuple[str, ...]:
    """The terms of a word: its stem and the word as written; none for a stop word."""
    if word in STOP_WORDS or word.replace("’", "'") in STOP_WORDS:
        return ()
    return (word,) if word.isdecimal() else (stem(word), EXACT_PREFIX + word)


@lru_cache(maxsize=1 << 16)
def _make_shared_term(word: str) -> str:
    """The shared term of a word; "" for a stop word."""
    return next(iter(_make_terms(word)), "")


def is_shared_term(term: str) -> bool:
    """Do the passages beside a text share in this term?"""
    return term[0] != EXACT_PREFIX and (len(term) > 1 or term[0] < _FIRST_UNSPACED)


def is_single_character(term: str) -> bool:
    """Is this term a single character of unspaced text?"""
    return len(term) == 1 and term >= _FIRST_UNSPACED


def _split_pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(max(len(run) - 1, 1))]
