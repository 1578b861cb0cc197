"""The passage table: what is known of each passage besides its terms, and where it stands among its neighbours.

All passages are laid out in one row of slots. There is a gap of empty slots after each document and after each long
pause in a conversation, so that the share of a term that neighbours get falls into the gap where there is no neighbour.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fabula.core.background import work_on
from fabula.core.ids import parse_timestamp
from fabula.search.index.inverted_index import Postings
from fabula.search.message_header import MessageHeader, parse_message_header
from fabula.search.model import Passage, SearchDocument
from fabula.text.names.introductions import find_introductions
from fabula.text.telling import measure_telling

AFTER_SHARES = (0.4, 0.2)  # of a term's count that the first and the second passage after it get,
BEFORE_SHARES = (0.2, 0.1)  # and the passages before it: who and what is spoken of was named further up
NEARNESS_SHARES = (0.3, 0.15)  # of a passage's nearness in meaning that those on either side get
GAP = 2  # empty slots between documents, as many as there are shares on one side
PAUSE = timedelta(hours=6)  # after which people speak of something else

Numbers = NDArray[np.float32]
# what a passage of a document says of two names that belong to one person: its place, the full name, the other one
Introduction = tuple[int, str, str]

_EMPTY: Numbers = np.zeros(0, np.float32)


class PassageTable(Struct, frozen=True, eq=False):
    """All passages in order, as arrays."""

    documents: NDArray[np.int32]  # the number of each passage's document
    sessions: NDArray[np.int32]  # the number of each passage's session: its document, or what pauses cut it into
    slots: NDArray[np.int32]  # the slot of each passage
    slot_count: int
    passage_at_slot: NDArray[np.int32]  # -1 in a gap
    relative_length: Numbers  # of a passage with its neighbours, where 1 is the average
    document_length: Numbers  # of each document, where 1 is the average
    days: NDArray[np.int32]
    speakers: NDArray[np.int32]  # numbers of speakers; 0 for none
    speaker_names: tuple[str, ...]
    ends_with_question: Numbers  # 1 where it does
    telling: Numbers  # how much of a lasting detail each passage tells, from 0 to 1
    ends: NDArray[np.int64]  # where each passage ends in its document

    @property
    def has_dates(self) -> bool:
        """Is the date of any passage known?"""
        return bool(self.days.any())

    @property
    def size(self) -> int:
        """The number of passages."""
        return len(self.slots)


class DocumentTraits(Struct, frozen=True, eq=False):
    """What is known of the passages of one document besides their terms."""

    lengths: Numbers  # in terms
    days: NDArray[np.int32]
    ends_with_question: Numbers
    speakers: tuple[str, ...]  # all speakers of the document,
    passage_speakers: NDArray[np.int32]  # and the speaker of each passage
    pauses: NDArray[np.int32]  # the number of long pauses before each passage
    embedding_texts: tuple[str, ...]
    telling: Numbers
    ends: NDArray[np.int64]
    knowers: tuple[frozenset[str] | None, ...]  # all who know passages of the document,
    passage_knowers: NDArray[np.int32]  # and who knows each passage
    introductions: tuple[Introduction, ...]


_NO_NUMBERS = np.zeros(0, np.int32)
_NO_TRAITS = DocumentTraits(
    _EMPTY, _NO_NUMBERS, _EMPTY, (), _NO_NUMBERS, _NO_NUMBERS, (), _EMPTY, np.zeros(0, np.int64), (), _NO_NUMBERS, ()
)


def read_traits(
    document: SearchDocument,
    postings: Postings,
    previous: tuple[SearchDocument, DocumentTraits] | None = None,
    after_each: Callable[[], None] = work_on,
) -> DocumentTraits:
    """The traits of a document; `previous` are those of the document as it was, to which passages may be added.

    `after_each` is called after each passage that is read.
    """
    first, old = 0, _NO_TRAITS
    if previous is not None and document.passages[: len(previous[0].passages)] == previous[0].passages:
        first, old = len(previous[0].passages), previous[1]
    known = _list_known_telling(document.passages[first:], previous)
    headers: list[MessageHeader] = []
    telling: list[float] = []
    introductions: list[Introduction] = []
    for place, passage in enumerate(document.passages[first:], first):
        headers.append(parse_message_header(passage))
        telling.append(_measure_telling(passage, known))
        introductions += ((place, full, other) for full, other in find_introductions(passage.text))
        after_each()
    lengths = np.zeros(len(headers), np.float32)
    starts = postings.starts[first:]
    has_terms = starts[:-1] < starts[1:]
    if has_terms.any():
        lengths[has_terms] = np.add.reduceat(postings.counts, starts[:-1][has_terms])
    numbers = {name: number for number, name in enumerate(old.speakers)}
    speakers = [numbers.setdefault(header.speaker, len(numbers)) for header in headers]
    sets = {known_to: number for number, known_to in enumerate(old.knowers)}
    knowers = [sets.setdefault(passage.known_to, len(sets)) for passage in document.passages[first:]]
    ends = np.array([passage.end for passage in document.passages[first:]], np.int64)
    return DocumentTraits(
        np.concatenate([old.lengths, lengths]),
        np.concatenate([old.days, np.array([header.day for header in headers], np.int32)]),
        np.concatenate([old.ends_with_question, np.array([one.ends_with_question for one in headers], np.float32)]),
        passage_speakers=np.concatenate([old.passage_speakers, np.array(speakers, np.int32)]),
        speakers=tuple(numbers),
        pauses=_count_pauses(document, first, old.pauses),
        embedding_texts=(*old.embedding_texts, *(header.embedding_text for header in headers)),
        telling=np.concatenate([old.telling, np.array(telling, np.float32)]),
        ends=np.concatenate([old.ends, ends]),
        knowers=tuple(sets),
        passage_knowers=np.concatenate([old.passage_knowers, np.array(knowers, np.int32)]),
        introductions=(*old.introductions, *introductions),
    )


def _list_known_telling(
    passages: Sequence[Passage], previous: tuple[SearchDocument, DocumentTraits] | None
) -> dict[str, float]:
    """How much the passages of the document as it was tell, by their texts, where that is needed."""
    if previous is None or all(passage.speaker or passage.at for passage in passages):
        return {}
    texts = (passage.text for passage in previous[0].passages)
    return dict(zip(texts, previous[1].telling.tolist(), strict=True))


def _measure_telling(passage: Passage, known: Mapping[str, float]) -> float:
    """How much a passage tells; a message tells nothing, for it is speech."""
    if passage.speaker or passage.at:
        return 0.0
    value = known.get(passage.text)
    return measure_telling(passage.text) if value is None else value


def _count_pauses(document: SearchDocument, first: int, known: NDArray[np.int32]) -> NDArray[np.int32]:
    """The number of long pauses before each passage; `known` are those before the passages in front of `first`."""
    passages = document.passages
    pauses = np.zeros(len(passages) - first, np.int32)
    last = next((parse_timestamp(one.at) for one in reversed(passages[:first]) if one.at), None)
    for number, passage in enumerate(passages[first:]):
        time = parse_timestamp(passage.at) if passage.at else None
        pauses[number] = time is not None and last is not None and abs(time - last) > PAUSE
        last = time or last
    return np.concatenate([known, np.cumsum(pauses, dtype=np.int32) + (known[-1] if first else 0)])


def build_passage_table(documents: Sequence[DocumentTraits]) -> PassageTable:
    """The table of all documents, one after the other."""
    sizes = np.array([len(traits.days) for traits in documents], np.int64)
    size = int(sizes.sum())
    document = np.repeat(np.arange(len(documents), dtype=np.int32), sizes)
    pauses = np.concatenate([_EMPTY, *(traits.pauses for traits in documents)]).astype(np.int32)
    earlier = np.cumsum([0, *(traits.pauses[-1] if len(traits.pauses) else 0 for traits in documents)], dtype=np.int32)
    sessions = document + pauses + earlier[document]
    slots = np.arange(size, dtype=np.int32) + GAP * (sessions + 1)
    slot_count = size + GAP * (len(documents) + 1 + int(earlier[-1]))
    passage_at_slot = np.full(slot_count, -1, np.int32)
    passage_at_slot[slots] = np.arange(size)
    names = {"": 0}
    speakers = [  # most documents have none
        traits.passage_speakers
        if traits.speakers == ("",)
        else np.array([names.setdefault(name, len(names)) for name in traits.speakers], np.int32)[
            traits.passage_speakers
        ]
        for traits in documents
    ]
    lengths = np.concatenate([_EMPTY, *(traits.lengths for traits in documents)])
    return PassageTable(
        document,
        sessions,
        slots,
        slot_count,
        passage_at_slot,
        _measure_with_neighbours(slots, slot_count, lengths),
        _divide_by_mean(np.bincount(document, lengths, len(documents)).astype(np.float32)),
        np.concatenate([_EMPTY, *(traits.days for traits in documents)]).astype(np.int32),
        np.concatenate([_EMPTY, *speakers]).astype(np.int32),
        tuple(names),
        np.concatenate([_EMPTY, *(traits.ends_with_question for traits in documents)]),
        np.concatenate([_EMPTY, *(traits.telling for traits in documents)]),
        np.concatenate([np.zeros(0, np.int64), *(traits.ends for traits in documents)]),
    )


def _measure_with_neighbours(slots: NDArray[np.int32], slot_count: int, lengths: Numbers) -> Numbers:
    row = np.zeros(slot_count, np.float32)
    row[slots] = lengths
    return _divide_by_mean(share_with_neighbours(row, AFTER_SHARES, BEFORE_SHARES)[slots])


def share_with_neighbours(row: Numbers, after: Sequence[float], before: Sequence[float]) -> Numbers:
    """A value for each slot: its own, and the shares it gets from the slots around it.

    The slots after one get `after` of its value, the nearest first, and those before it get `before`.
    """
    total = row.copy()
    for distance, (share_after, share_before) in enumerate(zip(after, before, strict=True), 1):
        total[distance:] += share_after * row[:-distance]
        total[:-distance] += share_before * row[distance:]
    return total


def _divide_by_mean(lengths: Numbers) -> Numbers:
    mean = float(lengths.mean()) if len(lengths) else 0.0
    return lengths / mean if mean else np.ones_like(lengths)
