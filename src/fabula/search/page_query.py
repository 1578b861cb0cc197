"""A page that is being written, as a query: what a scene needs from long ago stands in a passage by itself.

A question shares its words with the talk around its answer; a page shares most of its words with every other page
of the book. So here neighbours lend nothing, a chapter lifts nobody, and only the most telling words are looked at,
the rare ones counting for more: a name and a thing together say more than any number of doors and candles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import repeat

import numpy as np

from fabula.search.index.inverted_index import Ledger, Shares
from fabula.search.index.passage_table import Numbers, Seats
from fabula.search.index.postings import Integers
from fabula.search.model import Query
from fabula.text.terms import lent

MOST = 24  # words of a page that are looked at, and twice as many single characters
RARER = 1.5  # the power to which rarity counts
K1, B = 1.0, 0.6  # how soon more of a word says no more; how much length counts against a passage
NAMED = 0.5  # what being a name adds to a word
_BY_NUMBER = np.sqrt(np.arange(4, dtype=np.float32))  # saying it twice is not saying twice as much
_NOTHING: Shares = np.zeros(0, np.int32), np.zeros(0, np.float32)


def needed(ledger: Ledger, seats: Seats, query: Query) -> Numbers:
    """How much of what a page speaks of each passage holds; 0 where it holds nothing."""
    said = [(_numbered(ledger, text), weight) for text, weight in query.parts]
    said += [(_numbered(ledger, name), NAMED) for name in query.names]
    words = _summed([(words, weight) for (words, _), weight in said])
    characters = _summed([(characters, weight) for (_, characters), weight in said])
    found = _own(ledger, seats, *words, MOST)
    return found + _own(ledger, seats, *characters, 2 * MOST) if len(characters[0]) else found


def spoken(ledger: Ledger, query: Query) -> frozenset[int]:
    """The words of what weighs most in a query, by the ledger's numbers."""
    most = max(weight for _, weight in query.parts)
    said = [_numbered(ledger, text)[0][0] for text, weight in query.parts if weight == most]
    return frozenset(np.concatenate(said).tolist())


def _numbered(ledger: Ledger, text: str) -> tuple[Shares, Shares]:
    """The words and the single characters of a text by the ledger's numbers, and what each counts for."""
    known = ledger.spoken.young.get(text)
    return known if known is not None else ledger.spoken.find(text, partial(_known, ledger))


def _known(ledger: Ledger, text: str) -> tuple[Shares, Shares]:
    words, characters = lent(text)
    return _shares(ledger, words), _shares(ledger, characters)


def _shares(ledger: Ledger, counts: Mapping[str, int]) -> Shares:
    if not counts:
        return _NOTHING
    numbers = np.fromiter(map(ledger.numbers.get, counts, repeat(-1)), np.int32, len(counts))
    often = np.fromiter(counts.values(), np.int32, len(counts))
    held = numbers >= 0
    return numbers[held], _BY_NUMBER[np.minimum(often[held], 3)]


def _summed(said: Sequence[tuple[Shares, float]]) -> Shares:
    """Each word once, with all it counts for."""
    told = [(shares, weight) for shares, weight in said if len(shares[0])]
    if not told:
        return _NOTHING
    numbers = np.concatenate([numbers for (numbers, _), _ in told])
    worth = np.concatenate([shares * np.float32(weight) for (_, shares), weight in told])
    each, places = np.unique(numbers, return_inverse=True)
    return each, np.bincount(places, worth).astype(np.float32)


def _own(ledger: Ledger, seats: Seats, numbers: Integers, worth: Numbers, most: int) -> Numbers:
    if not len(numbers):
        return np.zeros(seats.size, np.float32)
    held = ledger.held(numbers)
    rare = np.log(1 + (seats.size - held + 0.5) / (held + 0.5)) ** RARER
    telling = np.where(held > 0, worth * rare, 0.0)
    best = np.lexsort((numbers, -telling))[:most]
    rows, holders, counts = ledger.entries(numbers[best])
    norm = K1 * (1 - B + B * seats.breadth[holders])
    share = telling[best][rows] * counts / (counts + norm)
    return np.bincount(holders, share, seats.size).astype(np.float32)
