"""Seats: what is known of each passage besides its words, and where it stands among its neighbours.

Passages are laid out in one row with a gap after each thread, and wherever those who spoke paused for hours, so
that what is lent to neighbours falls into the gap where there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fabula.core.ids import moment_of
from fabula.search.index.postings import Postings
from fabula.search.message_header import lead
from fabula.search.model import Thread

LENT = (0.3, 0.15)  # of a word's count goes to the passages beside, and to those behind them
GAP = len(LENT)  # places between threads
PAUSE = timedelta(hours=6)  # after which people speak of something else

Numbers = NDArray[np.float32]

_NONE: Numbers = np.zeros(0, np.float32)


class Seats(Struct, frozen=True, eq=False):
    """All passages in order, as arrays."""

    threads: NDArray[np.int32]  # the thread of each passage
    places: NDArray[np.int32]  # of each passage in the row
    width: int  # of the row
    numbers: NDArray[np.int32]  # of the passage at each place; -1 in a gap
    breadth: Numbers  # how long a passage is with its neighbours, the average being 1
    thread_breadth: Numbers
    days: NDArray[np.int32]
    voices: NDArray[np.int32]  # who speaks, as a number; 0 for nobody
    names: tuple[str, ...]  # of the voices
    asks: Numbers  # 1 where a passage ends with a question

    @property
    def dated(self) -> bool:
        """Is it known of any passage when it was said?"""
        return bool(self.days.any())

    @property
    def size(self) -> int:
        """How many passages there are."""
        return len(self.places)


class Traits(Struct, frozen=True, eq=False):
    """What is known of the passages of one thread besides their words."""

    lengths: Numbers  # in words
    days: NDArray[np.int32]
    asks: Numbers
    speakers: tuple[str, ...]  # all who speak in it,
    voices: NDArray[np.int32]  # and which of them speaks each passage
    pauses: NDArray[np.int32]  # how many long pauses there were up to each passage
    said: tuple[str, ...]


def traits(thread: Thread, postings: Postings) -> Traits:
    """Read the passages of a thread."""
    leads = [lead(passage) for passage in thread.passages]
    rows = np.repeat(np.arange(len(leads)), np.diff(postings.starts))
    speakers: dict[str, int] = {}
    return Traits(
        np.bincount(rows, postings.counts, len(leads)).astype(np.float32),
        np.array([each.day for each in leads], np.int32),
        np.array([each.asks for each in leads], np.float32),
        voices=np.array([speakers.setdefault(each.speaker, len(speakers)) for each in leads], np.int32),
        speakers=tuple(speakers),
        pauses=_pauses(thread),
        said=tuple(each.said for each in leads),
    )


def _pauses(thread: Thread) -> NDArray[np.int32]:
    found = np.zeros(len(thread.passages), np.int32)
    last: datetime | None = None
    for at, passage in enumerate(thread.passages):
        now = moment_of(passage.at) if passage.at else None
        found[at] = now is not None and last is not None and abs(now - last) > PAUSE
        last = now or last
    return np.cumsum(found, dtype=np.int32)


def seat(threads: Sequence[Traits]) -> Seats:
    """Lay out threads, one after the other."""
    sizes = np.array([len(each.days) for each in threads], np.int64)
    size = int(sizes.sum())
    owner = np.repeat(np.arange(len(threads), dtype=np.int32), sizes)
    pauses = np.concatenate([_NONE, *(each.pauses for each in threads)]).astype(np.int32)
    before = np.cumsum([0, *(each.pauses[-1] if len(each.pauses) else 0 for each in threads)], dtype=np.int32)
    places = np.arange(size, dtype=np.int32) + GAP * (owner + 1 + pauses + before[owner])
    width = size + GAP * (len(threads) + 1 + int(before[-1]))
    numbers = np.full(width, -1, np.int32)
    numbers[places] = np.arange(size)
    names = {"": 0}
    known = [np.array([names.setdefault(one, len(names)) for one in each.speakers], np.int32) for each in threads]
    lengths = np.concatenate([_NONE, *(each.lengths for each in threads)])
    return Seats(
        owner,
        places,
        width,
        numbers,
        _breadth(places, width, lengths),
        _relative(np.bincount(owner, lengths, len(threads)).astype(np.float32)),
        np.concatenate([_NONE, *(each.days for each in threads)]).astype(np.int32),
        np.concatenate([_NONE, *(of[each.voices] for of, each in zip(known, threads, strict=True))]).astype(np.int32),
        tuple(names),
        np.concatenate([_NONE, *(each.asks for each in threads)]),
    )


def _breadth(places: NDArray[np.int32], width: int, lengths: Numbers) -> Numbers:
    row = np.zeros(width, np.float32)
    row[places] = lengths
    total = row.copy()
    for away, part in enumerate(LENT, 1):
        total[away:] += part * row[:-away]
        total[:-away] += part * row[away:]
    return _relative(total[places])


def _relative(lengths: Numbers) -> Numbers:
    """Beside their average."""
    mean = float(lengths.mean()) if len(lengths) else 0.0
    return lengths / mean if mean else np.ones_like(lengths)
