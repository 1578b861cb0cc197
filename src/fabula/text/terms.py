"""The words of a text, as search, synopses and memory compare them.

What is written without spaces has no words to go by; its characters, alone and in pairs, do nearly as well.
Search compares in two ways: `lent` terms say what a text is about, so that its neighbours may share in them
(roots of words, pairs of characters), and `own` terms count only where they stand (words as they are written,
single characters).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from operator import add

from fabula.text.stemmer import root

EXACT = "="  # before a word as it is written
_WIDE_FIRST = "\u2e80"  # from here on: writing without spaces, and Hangul, whose words change at their ends
_WIDE = rf"[^\W\d_\0-{chr(ord(_WIDE_FIRST) - 1)}]+"
_NARROW = rf"[^\W\d_{_WIDE_FIRST}-\U0010ffff]+"
_WIDE_LETTER = re.compile(_WIDE)
_WORD = re.compile(rf"{_WIDE}|{_NARROW}(?:['’]{_NARROW})*|\d+")
_LITTLE = """
a an the of to in on at by for with from as is are was were be been being am do does did done doing have has had
having i me my mine we us our ours you your yours he him his she her hers it its they them their theirs this that
these those there here and or but if then than so not no nor what which who whom whose when where why how will would
shall should can could may might must about into over after before during between out up down off again once all any
both each few more most other some such only own same too very just also s t
i'm i've i'd i'll don't didn't doesn't isn't wasn't hasn't haven't you're they're that's what's let's it's he's she's
who's there's won't can't couldn't wouldn't
"""
STOP = frozenset(_LITTLE.split())


def terms(text: str) -> list[str]:
    """The words of a text, and the character pairs of what is written without spaces."""
    found: list[str] = []
    for word in _WORD.findall(text):
        if word[0] >= _WIDE_FIRST:
            found.extend(_pairs(word))
        else:
            found.append(word.lower())
    return found


def counted(text: str) -> Mapping[str, int]:
    """The lent and the own terms of a text, and how often each occurs."""
    narrow, wide = _runs(text)
    forms = chain.from_iterable(map(_forms, narrow))
    return Counter(chain(forms, chain.from_iterable(wide), _joined(wide)) if wide else forms)


def lent(text: str) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Of what `counted` counts, the lent terms, and apart from them the single characters."""
    narrow, wide = _runs(text)
    roots = filter(None, map(_root, narrow))
    return Counter(chain(roots, _joined(wide)) if wide else roots), Counter(chain.from_iterable(wide)) if wide else {}


def rooted(text: str) -> dict[str, str]:
    """The lent terms of a text, each with a word that stands for it there."""
    narrow, wide = _runs(text)
    found = {term: word for word in narrow if (term := _root(word))}
    return found | {pair: pair for pair in _joined(wide)}


def _runs(text: str) -> tuple[list[str], list[str]]:
    """The words of a text, and what it holds of writing without spaces, run by run."""
    found = _WORD.findall(text.lower())
    if text.isascii() or not _WIDE_LETTER.search(text):
        return found, []
    return [word for word in found if word[0] < _WIDE_FIRST], [run for run in found if run[0] >= _WIDE_FIRST]


def _joined(runs: Iterable[str]) -> Iterator[str]:
    """The pairs of neighbours in each run."""
    return chain.from_iterable(map(add, run, run[1:]) for run in runs)


@lru_cache(maxsize=1 << 16)
def _forms(word: str) -> tuple[str, ...]:
    """What a word counts as."""
    if word in STOP or word.replace("’", "'") in STOP:
        return ()
    return (word,) if word.isdecimal() else (root(word), EXACT + word)


@lru_cache(maxsize=1 << 16)
def _root(word: str) -> str:
    """What a word lends; nothing if it is a little one."""
    return next(iter(_forms(word)), "")


def is_lent(term: str) -> bool:
    """May the neighbours of a text share in this term?"""
    return term[0] != EXACT and (len(term) > 1 or term[0] < _WIDE_FIRST)


def is_character(term: str) -> bool:
    """Is this term a single character of a text without spaces?"""
    return len(term) == 1 and term >= _WIDE_FIRST


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(max(len(run) - 1, 1))]
