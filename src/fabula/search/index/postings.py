"""Postings: the words of one thread, counted by passage.

Plain arrays and a list of words, so that a thread can be kept in a cache folder and read back without
looking at its text again. A thread that changed takes over the rows of the passages that did not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from sys import intern

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fabula.search.message_header import lead
from fabula.search.model import Thread
from fabula.text.terms import counted

Integers = NDArray[np.int32]


class Postings(Struct, frozen=True, eq=False):
    """Row by row: which of the thread's words a passage holds, and how often."""

    words: tuple[str, ...]
    starts: Integers  # where each passage's row begins; one more than there are passages
    places: Integers  # of the words in `words`
    counts: Integers


def count(thread: Thread, before: Thread | None = None, known: Postings | None = None) -> Postings:
    """Count a thread; `before` and `known` are the same thread as it was, for passages that stayed as they were."""
    if before is None or known is None:
        return _counted(thread, ())
    return _counted(thread, known.words, {passage.text: at for at, passage in enumerate(before.passages)}, known)


def _counted(
    thread: Thread,
    words: Sequence[str],
    rows: Mapping[str, int] | None = None,
    known: Postings | None = None,
) -> Postings:
    places: dict[str, int] = {word: at for at, word in enumerate(words)}
    lengths: list[int] = []
    found: list[Integers] = []
    counts: list[Integers] = []
    for passage in thread.passages:
        row = rows.get(passage.text) if rows is not None else None
        if row is not None and known is not None:
            span = slice(int(known.starts[row]), int(known.starts[row + 1]))
            found.append(known.places[span])
            counts.append(known.counts[span])
        else:
            here = counted(lead(passage).text)
            at = [places.setdefault(intern(word), len(places)) for word in here]
            found.append(np.array(at, np.int32))
            counts.append(np.fromiter(here.values(), np.int32, len(here)))
        lengths.append(len(found[-1]))
    nothing = np.zeros(0, np.int32)
    starts = np.concatenate([np.zeros(1, np.int32), np.cumsum(lengths, dtype=np.int32)])
    made = Postings(tuple(places), starts, np.concatenate([nothing, *found]), np.concatenate([nothing, *counts]))
    return _tidy(made) if known is not None else made


def _tidy(made: Postings) -> Postings:
    """Without the words of passages that are gone, once there are many."""
    used = np.unique(made.places)
    if len(made.words) <= 2 * len(used) + 64:
        return made
    return Postings(
        tuple(made.words[at] for at in used),
        made.starts,
        np.searchsorted(used, made.places).astype(np.int32),
        made.counts,
    )
