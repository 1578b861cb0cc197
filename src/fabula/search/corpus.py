"""The shelf: all that can be searched of a project at one moment, and its index, made when first asked for.

A shelf is part of a view and never changes; the next one shares with it whatever did not move. A small
project is indexed while the first request waits, a few milliseconds; a large one in the background, and until
that is done a request is told so. An edit is worked into the index by paragraph, on the next request.
"""

from __future__ import annotations

import logging
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fabula.search.index import disk_cache as cache
from fabula.search.index.index import Index
from fabula.search.index.passages import Text, cut, rewritten
from fabula.search.index.postings import count
from fabula.search.model import Thread

log = logging.getLogger("fabula.search")

AT_ONCE = 120_000  # characters that are indexed while a request waits
WORTH = 0.1  # of all characters must be new for the cache to be written again
TALK = "talk:"  # what the ids of threads begin with that are no documents

Progress = Callable[[int, int], None]
Cuts = Mapping[str, tuple[Text, Thread]]


class Talks(Struct, frozen=True):
    """What was said, and all else that is no document: how much of it there is, and how to get at it."""

    characters: int
    threads: Callable[[], Sequence[Thread]]


NOTHING_SAID = Talks(0, tuple)


class Made(Struct, frozen=True, eq=False):
    """A finished index, with what is needed to search it and to follow it with the next one."""

    index: Index
    cuts: Cuts
    said: int  # characters
    trouble: str  # with the cache folder
    first: Mapping[str, int]  # the number of each thread's first passage,
    firsts: Sequence[int]  # in the order of the threads
    ends: NDArray[np.int64]  # of passages, in their threads
    sizes: NDArray[np.int64]  # how many passages each thread has
    told: dict[tuple[int, str], tuple[str, str]] = {}  # passages that were found before: text and title as shown,
    words: dict[int, dict[int, str]] = {}  # their words,
    marks: dict[int, NDArray[np.uint64]] = {}  # and marks by which those that are nearly alike are seen
    masks: dict[tuple[object, ...], NDArray[np.bool_]] = {}

    def thread_of(self, number: int) -> Thread:
        """The thread in which a passage stands."""
        return self.index.threads[bisect_right(self.firsts, number) - 1]


class Shelf:
    """Documents and conversations to be searched."""

    def __init__(
        self,
        project_id: str,
        texts: Iterable[Text] = (),
        talks: Talks = NOTHING_SAID,
        before: Shelf | None = None,
        *,
        at_once: int = AT_ONCE,
    ) -> None:
        """`before` is the shelf of the view before, if there was one."""
        self.project_id = project_id
        self.texts = tuple(texts)
        self.talks = talks
        self.made: Made | None = None
        self.at_once = at_once
        self._counted: tuple[Made | None, int] | None = None  # an index, and how many characters are new to it
        self._maker: _Maker = before._maker if before is not None and before.project_id == project_id else _Maker()

    def look(self) -> Made | None:
        """The index, where it is there or quickly made; None while it is being made."""
        if self.made is not None:
            return self.made
        maker = self._maker
        made, counted = maker.made, self._counted
        if counted is None or counted[0] is not made:
            counted = self._counted = made, self._new(made)
        if counted[1] <= self.at_once:
            with maker.busy:
                return self._finish(None)
        failure, maker.failure = maker.failure, None
        if failure is not None:
            raise failure
        if maker.busy.acquire(blocking=False):
            threading.Thread(target=self._in_background, name="search-index", daemon=True).start()
        return None

    def finished(self, progress: Progress | None = None) -> Made:
        """The index, however long it takes."""
        if self.made is not None:
            return self.made
        with self._maker.busy:
            return self._finish(progress)

    @property
    def progress(self) -> tuple[int, int]:
        """How many characters of how many are done, while an index is being made."""
        return self._maker.progress

    def _in_background(self) -> None:
        maker = self._maker
        try:
            self._finish(None)
        except Exception as error:
            log.warning("the search index of %s could not be made: %s", self.project_id, type(error).__name__)
            maker.failure = error
        finally:
            maker.busy.release()

    def _new(self, made: Made | None) -> int:
        """How many characters are to be looked at."""
        cuts: Cuts = made.cuts if made is not None else {}
        new = sum(rewritten(was[0].text if (was := cuts.get(text.id)) else "", text.text) for text in self.texts)
        return new + max(self.talks.characters - (made.said if made is not None else 0), 0)

    def _finish(self, progress: Progress | None) -> Made:
        if self.made is None:
            maker = self._maker
            self.made = maker.made = _make(self, maker, progress)
        return self.made


class _Maker:
    """What the shelves of one project share: the latest index, and the right to make the next."""

    def __init__(self) -> None:
        self.busy = threading.Lock()
        self.progress = (0, 0)
        self.made: Made | None = None
        self.failure: Exception | None = None  # of making it in the background, until somebody was told


def _make(shelf: Shelf, maker: _Maker, progress: Progress | None) -> Made:
    """The index of a shelf, from the latest one and from the cache folder as far as they go."""
    before = maker.made
    known: Cuts = before.cuts if before is not None else {}
    cuts = {text.id: _cut(text, known.get(text.id)) for text in shelf.texts}
    threads = [*(thread for _, thread in cuts.values()), *shelf.talks.threads()]
    index, trouble = _index(shelf, threads, maker, progress)
    first, number = {}, 0
    for thread in threads:
        first[thread.id] = number
        number += len(thread.passages)
    ends = np.fromiter((passage.end for passage in index.passages), np.int64, len(index.passages))
    sizes = np.array([len(thread.passages) for thread in threads], np.int64)
    return Made(index, cuts, shelf.talks.characters, trouble, first, [*first.values()], ends, sizes)


def _cut(text: Text, was: tuple[Text, Thread] | None) -> tuple[Text, Thread]:
    return was if was is not None and was[0] == text else (text, cut(text, was))


def _index(shelf: Shelf, threads: Sequence[Thread], maker: _Maker, progress: Progress | None) -> tuple[Index, str]:
    """Small things are counted at once; a large book is looked for in the cache, counted thread by thread, and kept."""
    before = maker.made.index if maker.made is not None else None
    old = {thread.id: thread for thread in before.threads} if before is not None else {}
    new = [thread for thread in threads if old.get(thread.id) is not thread]
    size = sum(changed(old.get(thread.id), thread) for thread in new)
    if size <= shelf.at_once:
        return Index(threads, before), ""
    kept, trouble = cache.read(shelf.project_id, new)
    done = 0
    missing = [thread for thread in new if thread.id not in kept]
    total = sum(_length(thread) for thread in missing)
    for thread in missing:
        was = old.get(thread.id)
        kept[thread.id] = count(thread, was, before.postings[thread.id] if before is not None and was else None)
        done += _length(thread)
        maker.progress = (done, total)
        if progress is not None:
            progress(done, total)
    index = Index(threads, before, kept)
    if total > WORTH * sum(_length(thread) for thread in threads):
        trouble = cache.write(shelf.project_id, threads, index.postings) or trouble
    return index, trouble


def _length(thread: Thread) -> int:
    return sum(len(passage.text) for passage in thread.passages)


def changed(before: Thread | None, after: Thread) -> int:
    """How many characters of a thread are not in it as it was."""
    known = {passage.text for passage in before.passages} if before is not None else set()
    return sum(len(passage.text) for passage in after.passages if passage.text not in known)
