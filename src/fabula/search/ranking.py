"""Ranking: how well each passage answers.

Words count as in BM25, with three things added. A passage shares in what its neighbours say, because an answer
seldom repeats what it answers. A thread that holds much of what is sought lifts all its passages. And who speaks,
and when, count where the query names a person or a time.
Nearness in meaning, where there is any, is put on the same scale and added.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fabula.search.dates import When
from fabula.search.index.inverted_index import Ledger
from fabula.search.index.passage_table import LENT, Numbers, Seats
from fabula.search.model import Hit, Query
from fabula.search.page_query import needed
from fabula.search.query_terms import Sought, Words, seek

K1, B = 1.0, 0.6  # how soon more of a word says no more; how much length counts against a passage
THREAD_B = 0.75
EXACT = 0.1  # a word as it is written, beside its root
CHARACTER = 1.5  # a single character, beside its pairs
KIN = 0.25  # a word near in meaning, beside the word itself
THREAD = 0.4
SPEAKER = 2.5
TIME = 1.4
ASKS = 0.3  # what a passage loses that ends with a question, but never more than half
MEANING = 0.45
AGAIN = 0.05  # how soon a thread tires
NEAR, REACH = 0.3, 40.0  # what being near adds, and how far that goes
SOON = 7  # days after a time in which it is still spoken of


def ranked(
    ledger: Ledger,
    seats: Seats,
    query: Query,
    *,
    most: int,
    allowed: NDArray[np.bool_] | None = None,
    nearness: Numbers | None = None,
    here: int | None = None,
) -> list[Hit]:
    """The best passages among the allowed, best first, with scores from 0 to 1."""
    if not seats.size or most <= 0:
        return []
    if query.page:
        scores = needed(ledger, seats, query)
    else:
        scores = lexical(ledger, seats, seek(ledger, query, seats.width, dated=seats.dated))
    if nearness is not None:
        scores = _fused(seats, scores, nearness)
    if here is not None:
        away = np.abs(np.arange(seats.size) - here)
        scores += np.where(scores > 0, NEAR * np.exp(-away / REACH), 0.0)
    if allowed is not None:
        scores = np.where(allowed, scores, 0.0)
    return _best(seats, scores, most)


def lexical(ledger: Ledger, seats: Seats, sought: Sought) -> Numbers:
    """How well each passage answers by its words, its speaker and its time; 0 where nothing matches."""
    scores = _shared(ledger, seats, sought.lent)
    scores += KIN * _shared(ledger, seats, sought.kin)
    scores += EXACT * _own(ledger, seats, sought.exact)
    scores += CHARACTER * _own(ledger, seats, sought.characters)
    if len(seats.thread_breadth) > 1:
        threads = _threads(ledger, seats, sought.lent) + CHARACTER * _threads(ledger, seats, sought.characters)
        scores += THREAD * threads[seats.threads]
    voices = np.array([sought.speaks(name) for name in seats.names], np.float32)
    scores += SPEAKER * np.minimum(voices, 1.0)[seats.voices]
    for when in sought.whens:
        scores += TIME * _timely(seats, when)
    return np.asarray(scores - np.minimum(ASKS * seats.asks, scores / 2), np.float32)


def _rarity(held: NDArray[np.int64] | int, size: int) -> NDArray[np.float32]:
    return np.log(1 + (size - held + 0.5) / (np.asarray(held) + 0.5)).astype(np.float32)


def _shared(ledger: Ledger, seats: Seats, words: Words) -> Numbers:
    """What passages and their neighbours say together, word by word."""
    if not len(words.numbers):
        return np.zeros(seats.size, np.float32)
    rows, holders, counts = ledger.entries(words.numbers)
    counts = counts * words.shares[rows]
    here = words.groups[rows] * seats.width + seats.places[holders]
    to, parts = [here], [counts]
    for away, part in enumerate(LENT, 1):
        to += [here - away, here + away]
        parts += [part * counts, part * counts]
    cells, shared = _summed(np.concatenate(to), np.concatenate(parts), len(words.weights) * seats.width)
    row, place = np.divmod(cells, seats.width)
    taken = seats.numbers[place] >= 0
    row, number, shared = row[taken], seats.numbers[place[taken]], shared[taken]
    rare = _rarity(np.bincount(row, minlength=len(words.weights)), seats.size)
    worth = ((K1 + 1) * words.weights * rare)[row] * shared / (shared + _norm(seats.breadth[number], B))
    return np.bincount(number, worth, seats.size).astype(np.float32)


def _summed(cells: NDArray[np.int64], parts: Numbers, size: int) -> tuple[NDArray[np.int64], Numbers]:
    """Each cell once, with the sum of its parts; takes no longer than there are parts, however many cells."""
    at = np.arange(len(cells))
    last = np.empty(size, np.int32)
    last[cells] = at
    keeper = last[cells]
    sums = np.bincount(keeper, parts, len(cells))
    kept = keeper == at
    return cells[kept], sums[kept].astype(np.float32)


def _norm(breadth: Numbers, b: float) -> Numbers:
    return np.float32(K1) * (np.float32(1 - b) + np.float32(b) * breadth)


def _own(ledger: Ledger, seats: Seats, words: Words) -> Numbers:
    """What passages say themselves."""
    if not len(words.numbers):
        return np.zeros(seats.size, np.float32)
    rows, holders, counts = ledger.entries(words.numbers)
    rare = _rarity(ledger.held(words.numbers), seats.size)
    worth = ((K1 + 1) * words.weights * rare)[rows] * counts / (counts + _norm(seats.breadth[holders], B))
    return np.bincount(holders, worth, seats.size).astype(np.float32)


def _threads(ledger: Ledger, seats: Seats, words: Words) -> Numbers:
    """What whole threads say."""
    many = len(seats.thread_breadth)
    if not len(words.numbers):
        return np.zeros(many, np.float32)
    rows, holders, counts = ledger.entries(words.numbers)
    table = np.bincount(rows * many + seats.threads[holders], counts, len(words.numbers) * many)
    said = table.reshape(len(words.numbers), many)
    rare = _rarity(np.count_nonzero(said, axis=1), many)
    share = said / (said + _norm(seats.thread_breadth, THREAD_B))
    return np.asarray(((K1 + 1) * words.weights * rare) @ share, np.float32)


def _timely(seats: Seats, when: When) -> Numbers:
    """The rarer a time is among all passages, the more it says."""
    days = seats.days
    dated = days > 0
    if not dated.any():
        return np.zeros(seats.size, np.float32)
    if when.first:
        inside = dated & (days >= when.first)
        return _told(inside & (days <= when.last)) + np.float32(0.5) * _told(inside & (days <= when.last + SOON))
    dates = (days - 719163).astype("datetime64[D]")
    months = dates.astype("datetime64[M]").astype(np.int64)
    scores = np.zeros(seats.size, np.float32)
    mask = dated
    if when.year:
        mask = mask & (months // 12 + 1970 == when.year)
        scores += _told(mask)
    if when.month:
        mask = mask & (months % 12 + 1 == when.month)
        scores += _told(mask)
    if when.day:
        scores += _told(mask & ((dates - dates.astype("datetime64[M]")).astype(np.int64) + 1 == when.day))
    return scores


def _told(mask: NDArray[np.bool_]) -> Numbers:
    return mask * np.float32(_rarity(int(mask.sum()), len(mask)))


def _fused(seats: Seats, scores: Numbers, nearness: Numbers) -> Numbers:
    """Words and meaning on one scale; whoever has no vector yet is neither near nor far."""
    row = np.zeros(seats.width, np.float32)
    known = nearness != 0
    row[seats.places[known]] = nearness[known] - nearness[known].mean() if known.any() else 0.0
    shared = row.copy()
    for away, part in enumerate(LENT, 1):
        shared[away:] += part * row[:-away]
        shared[:-away] += part * row[away:]
    fused = _standard(scores) + MEANING * _standard(shared[seats.places])
    return np.asarray(fused - fused.min())


def _standard(scores: Numbers) -> Numbers:
    spread = float(scores.std())
    return (scores - scores.mean()) / spread if spread > 0 else np.zeros_like(scores)


def _best(seats: Seats, scores: Numbers, most: int) -> list[Hit]:
    """The best, where each further passage of one thread counts a little less."""
    several = min(2 * most + 20, seats.size)
    order = np.argpartition(-scores, several - 1)[:several] if several < seats.size else np.arange(seats.size)
    order = order[scores[order] > 0]
    order = order[np.lexsort((order, -scores[order]))]
    if not len(order):
        return []
    weighed = scores[order] * _times(seats.threads[order]) ** -AGAIN
    best = np.lexsort((order, -weighed))[:most]
    numbers, shares = order[best].tolist(), (weighed[best] / weighed[best[0]]).tolist()
    return [Hit(number, share) for number, share in zip(numbers, shares, strict=True)]


def _times(threads: NDArray[np.int32]) -> NDArray[np.float64]:
    """How often the thread of each has come so far, itself included."""
    together = np.argsort(threads, kind="stable")
    ordered = threads[together]
    first = np.searchsorted(ordered, ordered)  # where the passages of each thread begin
    times = np.empty(len(threads))
    times[together] = np.arange(1, len(threads) + 1) - first
    return times
