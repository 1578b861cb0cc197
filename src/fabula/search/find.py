"""Finding: which passages may be told here, which of them answer, and each of them once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from zlib import crc32

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fabula.core.story import Eyes, Position, Timeline, Vantage
from fabula.search.corpus import TALK, Made
from fabula.search.model import Hit, Passage, Query

_BITS = 1024  # of a passage's mark
_ALIKE = 0.2  # of the bits of two marks may differ in passages that are nearly alike
_SPACED = 12  # characters a word at most, where there are spaces between words
_MASKS = 512


class Stand(Struct, frozen=True):
    """Where somebody stands who searches: whose eyes, in which conversation, and what the window shows anyway."""

    vantage: Vantage
    timeline: Timeline
    conversation: str = ""
    speaker: str = ""
    shown: Position | None = None
    heard: int = 0  # of its own conversation, how many of the latest messages

    @property
    def knower(self) -> str | None:
        """Whose knowledge counts, as the gate has it."""
        return self.vantage.character if self.vantage.eyes is Eyes.CHARACTER else Eyes.READER.value


class Found(Struct, frozen=True):
    """A passage that answers, the thread it stands in, and how well, from 0 to 1."""

    passage: Passage
    thread: str
    score: float


class Tellable(Struct, frozen=True):
    """From where in the story a passage may be told, and to whom."""

    since: Position | None
    known_to: frozenset[str] | None


def tellable(passage: Passage, thread: str, stand: Stand) -> Tellable:
    """The terms under which a passage is offered; whether they are met is for the gate to say.

    What was said in a conversation has no place in the story, so where a place matters only the author hears
    of it; it belongs to whoever was there, and in its own conversation, where nobody is impersonated, to all.
    """
    if not thread.startswith(TALK):
        return Tellable(Position(thread, passage.end), passage.known_to)
    since = None if stand.vantage.position is None else Position(thread)
    if thread == TALK + stand.conversation and not stand.speaker:
        return Tellable(since, None)
    return Tellable(since, passage.known_to if passage.known_to is not None else frozenset())


def allowed(made: Made, stand: Stand) -> NDArray[np.bool_]:
    """The passages among which it makes sense to rank: the gate would stop the others, or the window shows them."""
    vantage, here = stand.vantage, stand.vantage.position
    key = (
        vantage.eyes,
        vantage.character,
        here and here.document,
        stand.conversation,
        stand.speaker,
        stand.timeline.moments,
    )
    mask = made.masks.get(key)
    if mask is None:
        if len(made.masks) >= _MASKS:
            made.masks.clear()
        mask = made.masks[key] = _mask(made, stand)
    talk = made.first.get(TALK + stand.conversation) if stand.heard else None
    if here is None and talk is None:
        return mask
    mask = mask.copy()
    if talk is not None:
        last = talk + len(made.thread_of(talk).passages)
        mask[max(last - stand.heard, talk) : last] = False
    for place, after in ((here, vantage.eyes is not Eyes.AUTHOR), (stand.shown, True)):
        first = made.first.get(place.document) if place is not None and after else None
        if place is not None and first is not None:
            last = first + len(made.cuts[place.document][1].passages)
            mask[first:last] &= made.ends[first:last] <= place.offset
    return mask


def _mask(made: Made, stand: Stand) -> NDArray[np.bool_]:
    author, here, knower = stand.vantage.eyes is Eyes.AUTHOR, stand.vantage.position, stand.knower
    threads, reached = made.index.threads, stand.timeline.reached
    told = []
    for thread in threads:
        known_to = thread.passages[0].known_to if thread.passages else None
        told.append(
            author
            or (
                here is not None
                and (thread.id == here.document or reached(Position(thread.id), here))
                and (known_to is None or knower in known_to)
            )
        )
    mask = np.repeat(np.array(told, np.bool_), made.sizes)
    for thread in threads if not author else ():
        if thread.id.startswith(TALK):
            terms_ = [tellable(passage, thread.id, stand) for passage in thread.passages]
            first = made.first[thread.id]
            mask[first : first + len(terms_)] = [
                one.since is None and (one.known_to is None or knower in one.known_to) for one in terms_
            ]
    return mask


def find(
    made: Made,
    query: Query,
    mask: NDArray[np.bool_] | None,
    most: int,
    near: NDArray[np.float32] | None = None,
) -> list[Hit]:
    """The passages that answer best, best first, none nearly like a better one; `mask` says which are searched."""
    hits = made.index.search(query, most=most + most // 4, allowed=mask, vectors=near)
    return apart(made, hits)[:most]


def apart(made: Made, hits: Sequence[Hit]) -> list[Hit]:
    """Without those that say again what a better one says."""
    if len(hits) < 2:
        return list(hits)
    marks = np.concatenate([_marked(made, hit.number) for hit in hits]).reshape(len(hits), -1)
    most = _ALIKE * np.bitwise_count(marks).sum(axis=1)
    folded = np.bitwise_xor.reduce(marks, axis=1)  # differs in no more bits than the whole, and mostly in enough
    if np.count_nonzero(np.bitwise_count(folded[:, None] ^ folded[None]) <= most[:, None]) == len(hits):
        return list(hits)  # each is like itself alone
    alike = np.bitwise_count(marks[:, None] ^ marks[None]).sum(axis=2) <= most[:, None]
    kept: list[int] = []
    for at, twins in enumerate(alike.tolist()):
        if not any(twins[other] for other in kept):
            kept.append(at)
    return [hits[at] for at in kept]


def words_of(made: Made, number: int) -> Mapping[int, str]:
    """The words of a passage that was found, by number."""
    words = made.words.get(number)
    if words is None:
        words = made.words[number] = made.index.words(number)
    return words


def _marked(made: Made, number: int) -> NDArray[np.uint64]:
    """A passage in a thousand bits: alike where its words are, or its pairs of characters where it has no spaces."""
    mark = made.marks.get(number)
    if mark is None:
        text = made.index.passages[number].text.lower()
        pieces = text.split()
        if _SPACED * len(pieces) < len(text):
            pieces = [text[at : at + 2] for at in range(len(text))]
        bits = 0
        for piece in pieces:
            bits |= 1 << (crc32(piece.encode()) % _BITS)
        mark = made.marks[number] = np.frombuffer(bits.to_bytes(_BITS // 8, "little"), np.uint64)
    return mark
