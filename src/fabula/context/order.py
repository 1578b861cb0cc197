"""Order inside the retrieved layer: kept fragments keep their place (pre-3), late joiners follow the text (ctx-1).

Fragments of the last prompt keep their position. New ones are added at the end of the layer or,
with late joiners (ctx-1), in a small block behind what the prompt shows already, so that the cached prefix
before it stays valid. In a conversation that block stays behind the message that was the newest then, and is
sent anew no more than that message is. Behind a text that grows it moves with the text; once it has cost as many
tokens as resending the window would, it joins the layer. When a window steps or the chapter changes, the layer is
selected anew: kinds that seldom change come first, then kinds that often change; of each, those of the last prompt
in its order, and new ones behind them. Earlier messages that are new stand together, conversation by conversation, in
the order in which they were said.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct, field

from fabula.context.continuity import Continuity
from fabula.context.measure import MeasuredFragment
from fabula.core.fragment import Fragment
from fabula.core.relevance import NEEDED

OFTEN_CHANGING = frozenset({"relevant", "search", "history"})  # kinds of sources


class RetrievedOrder(Struct):
    """The retrieved layer in its order, and the late joiners behind the text window or behind a message each."""

    main: list[MeasuredFragment] = field(default_factory=list)
    late: list[MeasuredFragment] = field(default_factory=list)
    late_after: dict[str, str] = field(default_factory=dict)  # by source: the message that it follows; empty: none


def order_retrieved(
    pieces: Sequence[MeasuredFragment],
    before: Continuity,
    history: Sequence[MeasuredFragment],
    *,
    reselect: bool,
    late_joiners: bool,
    last_kinds: Collection[str] = (),
) -> RetrievedOrder:
    """Order the selected fragments, which come in the order of the recipe's sources.

    `history` are the messages that are shown. Fragments of the `last_kinds` come last once the layer is selected anew.
    """
    if before.is_empty:
        return RetrievedOrder(_sort_messages(pieces))
    if reselect:
        return RetrievedOrder(_order_anew(pieces, before, last_kinds))
    by_source = {piece.fragment.source: piece for piece in pieces}
    main = [by_source.pop(source) for source in before.retrieved if source in by_source]
    late = [by_source.pop(source) for source in before.late if source in by_source]
    new = _sort_messages([piece for piece in pieces if piece.fragment.source in by_source])
    if not late_joiners or before.late_tokens_spent > before.resend_tokens:
        return RetrievedOrder([*main, *late, *new])
    placed = [piece for piece in new if piece.fragment.placement is not None]
    joining = [piece for piece in new if piece.fragment.placement is None]
    if not late and not joining:
        return RetrievedOrder([*main, *placed])
    places = {piece.fragment.source: place for place, piece in enumerate(history)}
    newest = history[-1].fragment.source if history else ""
    late_after: dict[str, str] = {}
    for piece in (*late, *joining):
        source = piece.fragment.source
        after = before.late_after.get(source, newest)
        late_after[source] = after if after in places else newest
    late = sorted([*late, *joining], key=lambda piece: places.get(late_after[piece.fragment.source], 0))
    return RetrievedOrder([*main, *placed], late, late_after)


def _order_anew(
    pieces: Sequence[MeasuredFragment], before: Continuity, last_kinds: Collection[str]
) -> list[MeasuredFragment]:
    places = {source: place for place, source in enumerate((*before.retrieved, *before.late))}
    kinds: dict[str, int] = {}
    for piece in pieces:
        kinds.setdefault(piece.kind, len(kinds))
    new = len(places)

    def key(piece: MeasuredFragment) -> tuple[bool, bool, bool, int, int]:
        kind, place = piece.kind, places.get(piece.fragment.source, new)
        return kind in last_kinds, kind in OFTEN_CHANGING, piece.heading is not None, place, kinds[kind]

    return sorted(_sort_messages(pieces), key=key)


def _sort_messages(pieces: Sequence[MeasuredFragment]) -> list[MeasuredFragment]:
    """Return fragments with earlier messages together, where the last of them stands.

    The conversation of the latest message comes last; of each, messages stand in the order in which they were said.
    """
    messages = [(one.fragment.conversation_id, said, one) for one in pieces if (said := one.fragment.earlier)]
    if len(messages) < 2:
        return list(pieces)
    latest: dict[str, str] = {}
    for conversation, said, _ in messages:
        latest[conversation] = max(latest.get(conversation, ""), said.at)
    messages.sort(key=lambda item: (latest[item[0]], item[0], item[1].number))
    at = max(place for place, one in enumerate(pieces) if one.fragment.earlier)
    before, behind = ([one for one in part if not one.fragment.earlier] for part in (pieces[:at], pieces[at:]))
    return [*before, *(one for _, _, one in messages), *behind]


def select_previously_included(
    before: Continuity, offset: int | None, *, only_recent: bool, unused_limit: int
) -> tuple[str, ...]:
    """The sources to offer again: those of the last prompt that were included at or before this offset.

    `only_recent` leaves those that were needed lately. An offset of None stands for another, later document, which
    takes over what seldom changes.
    """
    sources = (*before.retrieved, *before.late)
    if offset is None:
        sources = tuple(source for source in sources if source.partition(":")[0] not in OFTEN_CHANGING)
    elif offset < max(before.included_at.values(), default=0):
        sources = tuple(source for source in sources if before.included_at.get(source, 0) <= offset)
    if not only_recent:
        return sources
    return tuple(source for source in sources if before.unused_requests.get(source, 0) <= unused_limit)


def find_first_offsets(sources: Sequence[str], before: Continuity, offset: int, *, same_place: bool) -> dict[str, int]:
    """For the source of each fragment of the layer, the first offset of this document at which it was included."""
    known = before.included_at
    if not known:
        return dict.fromkeys(sources, offset)
    if not same_place:  # what an earlier document brought along is known in all of this one
        return dict.fromkeys(sources, offset) | dict.fromkeys(known.keys() & set(sources), 0)
    return {source: min(known.get(source, offset), offset) for source in sources}


def count_unused_requests(layer: Sequence[Fragment], before: Continuity) -> dict[str, int]:
    """For how many requests each fragment of the layer has not been needed."""
    counts = before.unused_requests
    return {one.source: 0 if not counts or one.score >= NEEDED else counts.get(one.source, -1) + 1 for one in layer}
