"""Find passages: mask those that may not or need not be found, rank the others, drop near duplicates.

The gate alone decides what enters a prompt. The mask here only saves ranking passages that the gate would stop, or
that the prompt shows anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fabula.core.fragment import Visibility
from fabula.core.messages import Sentence
from fabula.core.story import READER_ONLY, Perspective, Position, Timeline, Vantage
from fabula.search.corpus import CONVERSATION_PREFIX, NOTHING_OUTDATED, Outdated
from fabula.search.index.index import SearchIndex, StoryPlaces
from fabula.search.model import Passage, Query, SearchHit

_SIGNATURE_BITS = 1024
_MAX_DIFFERENCE = 0.2  # of the bits of two signatures that may differ in near duplicates
_MAX_WORD = 12  # characters a word on average, where there are spaces between words
_MAX_MASKS = 512  # cached masks of one index

Mask = NDArray[np.bool_]


class MessageScope(Struct, frozen=True):
    """Which messages a chat may find: of these conversations; in their past if no place in the story is in the way."""

    conversations: frozenset[str]
    present: frozenset[str]  # who takes part in the chat
    is_past: bool  # these conversations lie in the past of the request
    shown_texts: frozenset[str] = frozenset()  # of messages that the prompt shows; none of them is found again


class SearchScope(Struct, frozen=True):
    """From where a search is made: the vantage, the conversation, and what the prompt shows anyway."""

    vantage: Vantage
    timeline: Timeline
    conversation_id: str = ""
    speaker_id: str = ""
    shown_from: Position | None = None  # where the text window of the prompt begins
    shown_messages: int = 0  # how many of the latest messages of the conversation the prompt shows
    messages: MessageScope | None = None  # of a chat; None does not limit them


class FoundPassage(Struct, frozen=True):
    """A passage that was found, the id of its document, its score from 0 to 1, and why a search by hand found it."""

    passage: Passage
    document_id: str
    score: float
    reasons: tuple[Sentence, ...] = ()
    names: tuple[str, ...] = ()  # of the entries that the words name, by which it was looked for too
    is_compared: bool = False  # whether it was compared by meaning


def find_visibility(passage: Passage, document_id: str, scope: SearchScope) -> Visibility:
    """The visibility with which a passage is offered to the gate.

    A message has no position in the story, so where a position matters only the author sees it; a chat also finds those
    of its own conversation, and of others where these lie in its past. A message is known to those who heard it. In its
    own conversation, where no character speaks, what was said to everybody is known.
    """
    if not document_id.startswith(CONVERSATION_PREFIX):
        return Visibility(passage.source, Position(document_id, passage.end), known_to=passage.known_to)
    is_own = document_id == CONVERSATION_PREFIX + scope.conversation_id
    is_past = scope.messages is not None and (is_own or scope.messages.is_past)
    since = None if scope.vantage.position is None or is_past else Position(document_id)
    known_to = passage.known_to
    if not is_own:
        known_to = frozenset[str]() if known_to is None else known_to - READER_ONLY
    return Visibility(passage.source, since, known_to=known_to)


def make_search_mask(index: SearchIndex, scope: SearchScope, outdated: Outdated = NOTHING_OUTDATED) -> Mask:
    """Which passages are worth ranking: not those that the gate would stop or that the prompt shows anyway.

    Of a document that is `outdated` since the index was built, only the passages that stayed as they were.
    """
    vantage, here = scope.vantage, scope.vantage.position
    key = (
        vantage.perspective,
        vantage.character,
        vantage.other_ids,
        vantage.documents,
        vantage.unknown_documents,
        here and here.document,
        scope.conversation_id,
        scope.speaker_id,
        scope.messages,
        scope.timeline,
    )
    mask = index.masks.get(key)
    if mask is None:
        if len(index.masks) >= _MAX_MASKS:
            index.masks.clear()
        mask = index.masks[key] = _mask_documents(index, scope)
    firsts = index.first_passages
    conversation = firsts.get(CONVERSATION_PREFIX + scope.conversation_id) if scope.shown_messages else None
    if here is None and conversation is None and not outdated:
        return mask
    mask = mask.copy()
    if conversation is not None:
        last = conversation + len(index.document_of(conversation).passages)
        mask[max(last - scope.shown_messages, conversation) : last] = False
    limits = [scope.shown_from] if vantage.perspective is Perspective.AUTHOR else [here, scope.shown_from]
    for position in limits:
        first = firsts.get(position.document) if position is not None else None
        if position is not None and first is not None:
            last = first + len(index.by_id[position.document].passages)
            mask[first:last] &= index.passage_ends[first:last] <= position.offset
    return mask & mask_current(index, outdated) if outdated else mask


def mask_current(index: SearchIndex, outdated: Outdated) -> Mask:
    """Which passages are still as they were when the index was built."""
    mask = np.ones(len(index.passages), np.bool_)
    for document, still_valid in outdated.items():
        first = index.first_passages[document]
        mask[first + still_valid : first + len(index.by_id[document].passages)] = False
    return mask


def _mask_documents(index: SearchIndex, scope: SearchScope) -> Mask:
    """The mask that all positions in one document share."""
    is_author = scope.vantage.perspective is Perspective.AUTHOR
    reached = np.ones(len(index.documents), np.bool_) if is_author else _find_reached(index, scope)
    granted, unknown = scope.vantage.documents, scope.vantage.unknown_documents
    if granted is not None:
        told = [one.id in granted or one.id.startswith(CONVERSATION_PREFIX) for one in index.documents]
        reached &= np.array(told, np.bool_)
    hidden = [number for one in unknown if (number := index.document_numbers.get(one)) is not None]
    reached[hidden] = False
    mask = np.repeat(reached, index.passage_counts)
    if index.conversations is None:
        index.conversations = [one for one in index.documents if one.id.startswith(CONVERSATION_PREFIX)]
    for document in index.conversations:
        passages = slice(first := index.first_passages[document.id], first + len(document.passages))
        if not _is_in_scope(document.id, scope):
            mask[passages] = False
        elif not is_author:
            # Few sets of listeners share all messages of a conversation.
            knowers, numbers = index.knowers(document.id)
            mask[passages] = np.array([_hears(one, document.id, scope) for one in knowers], np.bool_)[numbers]
    return mask


def _find_reached(index: SearchIndex, scope: SearchScope) -> Mask:
    """Which documents of the manuscript lie behind the place of the request, and are known to whoever asks."""
    here, timeline = scope.vantage.position, scope.timeline
    if here is None:
        return np.zeros(len(index.documents), np.bool_)
    if index.story_places is None or index.story_places[0] is not timeline:
        index.story_places = timeline, _find_story_places(index, timeline)
    numbers, times = index.story_places[1]
    number, now = timeline.index(here.document), timeline.story_time(here.document)
    reached = (numbers < (np.nan if number is None else number)) & (times <= (np.nan if now is None else now))
    own = index.document_numbers.get(here.document)
    if own is not None:
        reached[own] = True
    return reached & _find_known(index, scope)


def _find_story_places(index: SearchIndex, timeline: Timeline) -> StoryPlaces:
    """The place of each document in reading order and in time; not a number for one that is not part of the story."""
    numbers = [timeline.index(document.id) for document in index.documents]
    times = [timeline.story_time(document.id) for document in index.documents]
    return np.array(numbers, np.float64), np.array(times, np.float64)


def _find_known(index: SearchIndex, scope: SearchScope) -> Mask:
    """Which documents are known to whoever asks; all passages of a chapter are known to the same people."""
    knowers, numbers = index.document_knowers
    return np.array([_is_known(one, scope) for one in knowers], np.bool_)[numbers]


def _is_known(known_to: frozenset[str] | None, scope: SearchScope) -> bool:
    return known_to is None or not known_to.isdisjoint(scope.vantage.knowers)


def _hears(known_to: frozenset[str] | None, document_id: str, scope: SearchScope) -> bool:
    """Whether messages of a conversation that these people heard are visible to whoever asks."""
    visibility = find_visibility(Passage("", "", known_to=known_to), document_id, scope)
    return visibility.since is None and _is_known(visibility.known_to, scope)


def _is_in_scope(document_id: str, scope: SearchScope) -> bool:
    """Whether a chat may find what a conversation has; its recaps and its participants' texts are told elsewhere."""
    conversation, mark, _ = document_id.removeprefix(CONVERSATION_PREFIX).partition("#")
    return scope.messages is None or (conversation in scope.messages.conversations and not mark)


def find_passages(
    index: SearchIndex,
    query: Query,
    mask: Mask | None,
    limit: int,
    semantic_scores: NDArray[np.float32] | None = None,
) -> list[SearchHit]:
    """The best passages, best first, without near duplicates; `mask` says which passages are searched."""
    hits = index.search(query, limit=limit + limit // 4, allowed=mask, semantic_scores=semantic_scores)
    return drop_near_duplicates(index, hits)[:limit]


def drop_near_duplicates(index: SearchIndex, hits: Sequence[SearchHit]) -> list[SearchHit]:
    """The hits without those that are nearly the same as a better one."""
    if len(hits) < 2:
        return list(hits)
    signatures = np.concatenate([_get_signature(index, hit.passage_number) for hit in hits]).reshape(len(hits), -1)
    limits = _MAX_DIFFERENCE * np.bitwise_count(signatures).sum(axis=1)
    # Folded signatures differ in no more bits than whole ones, and mostly in enough.
    folded = np.bitwise_xor.reduce(signatures, axis=1)
    if np.count_nonzero(np.bitwise_count(folded[:, None] ^ folded[None]) <= limits[:, None]) == len(hits):
        return list(hits)  # each is similar to itself alone
    similar = np.bitwise_count(signatures[:, None] ^ signatures[None]).sum(axis=2) <= limits[:, None]
    kept: list[int] = []
    for number, row in enumerate(similar.tolist()):
        if not any(row[other] for other in kept):
            kept.append(number)
    return [hits[number] for number in kept]


def _get_signature(index: SearchIndex, number: int) -> NDArray[np.uint64]:
    """A bit set of a passage's words, or of its pairs of characters where it has no spaces, cached."""
    signature = index.signatures.get(number)
    if signature is None:
        text = index.passages[number].text.lower()
        pieces = text.split()
        if _MAX_WORD * len(pieces) < len(text):
            pieces = [text[at : at + 2] for at in range(len(text))]
        bits = 0
        for piece in pieces:
            bits |= 1 << (crc32(piece.encode()) % _SIGNATURE_BITS)
        data = bits.to_bytes(_SIGNATURE_BITS // 8, "little")
        signature = index.signatures[number] = np.frombuffer(data, np.uint64)
    return signature
