"""What is sought: the words of a query that say most, as numbers of the ledger with their weights.

The work of a search depends on how many words are looked up, so there is a limit: of a page before the cursor
only the rarest words count, and only a question is widened by words near in meaning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import sqrt

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fabula.search.dates import When, whens
from fabula.search.index.inverted_index import Ledger
from fabula.search.model import Query
from fabula.text.synonyms import kin
from fabula.text.terms import EXACT, counted, is_character, is_lent

LONGEST = 12_000  # characters of a query that are looked at, half from its beginning and half from its end
MOST = 32  # words of one sort that are looked up,
CELLS = 1_000_000  # or fewer where there are very many passages
ASKED = 400  # characters in which times are looked for
QUESTION = 24  # words that a query may have and still be widened
NAMED = 0.5  # what being a name adds to a word
_SPREAD = 5  # places a lent word reaches
_SHORT = 3  # letters a speaker's name must have to be known by it


class Words(Struct, frozen=True, eq=False):
    """Words of the ledger with their weights; those of one group stand for one word of the query."""

    numbers: NDArray[np.int64]
    shares: NDArray[np.float32]  # of each word in its group
    groups: NDArray[np.int64]
    weights: NDArray[np.float32]  # of each group


class Sought(Struct, frozen=True, eq=False):
    """Words to look up, by how they count."""

    lent: Words
    kin: Words
    exact: Words
    characters: Words
    wanted: Mapping[str, float]  # all lent terms of the query with their weights
    whens: list[When]

    def speaks(self, name: str) -> float:
        """How much the query is about whoever has this name."""
        return max((self.wanted[term] for term in _name(name) if term in self.wanted), default=0.0)


def seek(ledger: Ledger, query: Query, width: int, *, dated: bool = True) -> Sought:
    """The words of a query that are worth looking up among `width` places, and times where passages have any."""
    top = max((weight for _, weight in query.parts), default=0.0)
    wanted: dict[str, float] = {}
    times: list[When] = []
    for text, weight in query.parts:
        if weight > 0:
            seen = bounded(text)
            for term, number in counted(seen).items():
                wanted[term] = wanted.get(term, 0.0) + weight / top * sqrt(min(number, 3))
            times.extend(whens(seen[:ASKED], query.now) if dated and weight == top and not query.page else ())
    for name in query.names:
        for term in counted(name[:200]):
            wanted[term] = wanted.get(term, 0.0) + NAMED
    most = max(min(MOST, CELLS // max(width, 1)), 4)
    sorts: dict[str, list[tuple[int, float]]] = {"lent": [], "exact": [], "character": []}
    lent: dict[str, float] = {}
    for term, weight in wanted.items():
        sort = "exact" if term[0] == EXACT else "character" if is_character(term) else "lent"
        if sort == "lent":
            lent[term] = weight
        if term in ledger.numbers:
            sorts[sort].append((ledger.numbers[term], weight))
    return Sought(
        _rarest(ledger, sorts["lent"], most, width),
        _widened(ledger, lent if len(lent) <= QUESTION else {}),
        _rarest(ledger, sorts["exact"], most, width),
        _rarest(ledger, sorts["character"], 2 * most, width),
        lent,
        times[:4],
    )


def bounded(text: str) -> str:
    """A text, or its beginning and end where it is too long to be a query."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}\n{text[-LONGEST // 2 :]}"


def _rarest(ledger: Ledger, known: Sequence[tuple[int, float]], most: int, size: int) -> Words:
    """Those that say most, by their weight and by how few of `size` passages hold them."""
    numbers = np.array([number for number, _ in known], np.int64)
    weights = np.array([weight for _, weight in known], np.float32)
    held = ledger.held(numbers)
    worth = np.where(held, weights * np.log1p(size / np.maximum(_SPREAD * held, 1)), 0.0)
    best = np.sort(np.lexsort((numbers, -worth))[: min(most, int(np.count_nonzero(held)))])
    return Words(numbers[best], np.ones(len(best), np.float32), np.arange(len(best)), weights[best])


def _widened(ledger: Ledger, wanted: Mapping[str, float]) -> Words:
    """For each word of a question, those near it in meaning."""
    numbers: list[int] = []
    shares: list[float] = []
    groups: list[int] = []
    weights: list[float] = []
    for term, weight in wanted.items():
        near = [(other, share) for other, share in kin().get(term, {}).items() if other in ledger.numbers]
        if near:
            numbers.extend(ledger.numbers[other] for other, _ in near)
            shares.extend(share for _, share in near)
            groups.extend([len(weights)] * len(near))
            weights.append(weight)
    return Words(
        np.array(numbers, np.int64),
        np.array(shares, np.float32),
        np.array(groups, np.int64),
        np.array(weights, np.float32),
    )


@lru_cache(maxsize=4096)
def _name(name: str) -> tuple[str, ...]:
    return tuple(term for term in counted(name) if is_lent(term) and (not term.isascii() or len(term) >= _SHORT))
