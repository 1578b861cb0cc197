"""A page that is being written, as a query: what a scene needs from long ago stands in a passage by itself.

A question shares its words with the talk around its answer; a page shares most of its words with every other page
of the book. So here neighbours lend nothing, a chapter lifts nobody, and only the most telling words are looked at,
the rare ones counting for more: a name and a thing together say more than any number of doors and candles.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import sqrt

import numpy as np

from fabula.search.ledger import Ledger
from fabula.search.model import Query
from fabula.search.seats import Numbers, Seats
from fabula.text.terms import lent

MOST = 24  # words of a page that are looked at, and twice as many single characters
RARER = 1.5  # the power to which rarity counts
K1, B = 1.0, 0.6  # how soon more of a word says no more; how much length counts against a passage
NAMED = 0.5  # what being a name adds to a word
_OFTEN = sqrt(3)
_BY_NUMBER = (0.0, 1.0, sqrt(2))  # saying it twice is not saying twice as much
_REMEMBERED = 4096  # paragraphs: whoever writes on has the same ones before the cursor again and again


def needed(ledger: Ledger, seats: Seats, query: Query) -> Numbers:
    """How much of what a page speaks of each passage holds; 0 where it holds nothing."""
    words: dict[int, float] = {}
    characters: dict[int, float] = {}
    said = [(_terms(text), weight) for text, weight in query.parts]
    for (some, single), weight in (*said, *((_terms(name), NAMED) for name in query.names)):
        _add(words, ledger, some, weight)
        _add(characters, ledger, single, weight)
    return _own(ledger, seats, words, MOST) + _own(ledger, seats, characters, 2 * MOST)


@lru_cache(maxsize=_REMEMBERED)
def _terms(text: str) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """The words and the single characters of a text, and what each counts for by its number."""
    words, characters = lent(text)
    return _shares(words), _shares(characters)


def _shares(counts: Mapping[str, int]) -> dict[str, float]:
    return {term: _BY_NUMBER[number] if number < 3 else _OFTEN for term, number in counts.items()}


def _add(sought: dict[int, float], ledger: Ledger, terms: Mapping[str, float], weight: float) -> None:
    numbers = ledger.numbers
    for term, share in terms.items():
        number = numbers.get(term)
        if number is not None:
            sought[number] = sought.get(number, 0.0) + weight * share


def _own(ledger: Ledger, seats: Seats, sought: Mapping[int, float], most: int) -> Numbers:
    if not sought:
        return np.zeros(seats.size, np.float32)
    numbers = np.fromiter(sought, np.int64, len(sought))
    held = ledger.held(numbers)
    rare = np.log(1 + (seats.size - held + 0.5) / (held + 0.5)) ** RARER
    telling = np.where(held > 0, np.fromiter(sought.values(), np.float64, len(sought)) * rare, 0.0)
    best = np.lexsort((numbers, -telling))[:most]
    rows, holders, counts = ledger.entries(numbers[best])
    norm = K1 * (1 - B + B * seats.breadth[holders])
    worth = telling[best][rows] * counts / (counts + norm)
    return np.bincount(holders, worth, seats.size).astype(np.float32)
