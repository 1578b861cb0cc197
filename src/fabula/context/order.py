"""Order inside the retrieved layer: kept fragments keep their place (pre-3), late joiners follow the text (ctx-1).

Fragments of the last prompt keep their position. New ones are added at the end of the layer or,
with late joiners (ctx-1), in a small block behind the text window, so that the cached prefix
before it stays valid. Once that block has cost as many tokens as resending the window would, it
joins the layer. When a window steps or the chapter changes, the layer is selected anew: kinds that
seldom change come first, in the order of the last prompt; then kinds that often change.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from fabula.context.continuity import Continuity
from fabula.context.measure import MeasuredFragment
from fabula.core.relevance import NEEDED

OFTEN_CHANGING = frozenset({"relevant", "search", "history"})  # kinds of sources


class RetrievedOrder(Struct):
    """The retrieved layer in its order, and the late joiners behind the text window."""

    main: list[MeasuredFragment] = field(default_factory=list)
    late: list[MeasuredFragment] = field(default_factory=list)


def order_retrieved(
    pieces: Sequence[MeasuredFragment], before: Continuity, *, reselect: bool, late_joiners: bool
) -> RetrievedOrder:
    """Order the selected fragments, which come in the order of the recipe's sources."""
    if before.is_empty:
        return RetrievedOrder(list(pieces))
    if reselect:
        return RetrievedOrder(_order_anew(pieces, before))
    by_source = {piece.fragment.source: piece for piece in pieces}
    main = [by_source.pop(source) for source in before.retrieved if source in by_source]
    late = [by_source.pop(source) for source in before.late if source in by_source]
    new = [piece for piece in pieces if piece.fragment.source in by_source]
    if not late_joiners or before.late_tokens_spent > before.resend_tokens:
        return RetrievedOrder([*main, *late, *new])
    placed = [piece for piece in new if piece.fragment.placement is not None]
    joining = [piece for piece in new if piece.fragment.placement is None]
    return RetrievedOrder([*main, *placed], [*late, *joining])


def _order_anew(pieces: Sequence[MeasuredFragment], before: Continuity) -> list[MeasuredFragment]:
    places = {source: place for place, source in enumerate((*before.retrieved, *before.late))}
    kinds: dict[str, int] = {}
    for piece in pieces:
        kinds.setdefault(piece.kind, len(kinds))
    new = len(places)

    def key(piece: MeasuredFragment) -> tuple[bool, int, int]:
        kind, place = piece.kind, places.get(piece.fragment.source, new)
        if kind in OFTEN_CHANGING:
            return True, kinds[kind], place
        return False, place, kinds[kind]

    return sorted(pieces, key=key)


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


def find_first_offsets(order: RetrievedOrder, before: Continuity, offset: int, *, same_place: bool) -> dict[str, int]:
    """For each fragment of the layer, the first offset of this document at which it was included."""
    sources = [piece.fragment.source for piece in (*order.main, *order.late)]
    if not same_place:  # what an earlier document brought along is known in all of this one
        return dict.fromkeys(sources, offset) | dict.fromkeys(before.included_at.keys() & set(sources), 0)
    known = before.included_at
    return {source: min(known.get(source, offset), offset) for source in sources}


def count_unused_requests(order: RetrievedOrder, before: Continuity) -> dict[str, int]:
    """For how many requests each fragment of the layer has not been needed."""
    pieces, counts = (*order.main, *order.late), before.unused_requests
    if not counts:
        return dict.fromkeys([piece.fragment.source for piece in pieces], 0)
    return {
        piece.fragment.source: 0 if piece.fragment.score >= NEEDED else counts.get(piece.fragment.source, -1) + 1
        for piece in pieces
    }
