"""Order: the retrieved layer keeps its place from one request to the next.

What was told last time stays where it stood. What is new joins at the end of the layer, or, with
late joiners on, in a small block behind the window, so that the window before it does not move;
once that block has cost as much as moving the window would, it is folded in. When a window steps or
the chapter changes, the layer is chosen anew: kinds that change seldom stand before kinds that
change often; of the former what was there before stands first, of the latter within its kind.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from fabula.context.continuity import NOTHING, Continuity
from fabula.context.measure import Piece
from fabula.context.trace import Outcome, Reason
from fabula.core.relevance import NEEDED

OFTEN = frozenset({"relevant", "search", "history"})  # kinds that change with every choice


class Order(Struct):
    """The retrieved layer in the order it will stand, and what stands behind the window."""

    settled: list[Piece] = field(default_factory=list)
    late: list[Piece] = field(default_factory=list)

    @property
    def all(self) -> list[Piece]:
        """Everything of the layer that is in the prompt."""
        return [*self.settled, *self.late]

    def settle(self, kept: list[Sequence[Piece]], outcomes: list[Outcome], unanchored: set[str]) -> None:
        """Note what became of each of them."""
        if unanchored:
            lost = [piece for piece in self.settled if piece.fragment.source in unanchored]
            outcomes += [(piece.fragment, Reason.ANCHOR_MISSING, piece.tokens, "") for piece in lost]
            kept.append([piece for piece in self.settled if piece not in lost])
        else:
            kept.append(self.settled)
        outcomes += [(piece.fragment, Reason.LATE, piece.tokens, "") for piece in self.late]


def arrange(kept: Sequence[Piece], before: Continuity, *, fresh: bool, late: bool) -> Order:
    """Put what was chosen into its order. `kept` comes in the order of the recipe's sources."""
    if before is NOTHING:
        return Order(list(kept))
    if fresh:
        return Order(_anew(kept, before))
    by_source = {piece.fragment.source: piece for piece in kept}
    first = [by_source.pop(source) for source in before.retrieved if source in by_source]
    second = [by_source.pop(source) for source in before.late if source in by_source]
    new = [piece for piece in kept if piece.fragment.source in by_source]
    if not late or before.late_spent > before.resend:
        return Order([*first, *second, *new])
    own_place = [piece for piece in new if piece.fragment.placement is not None]
    joining = [piece for piece in new if piece.fragment.placement is None]
    return Order([*first, *own_place], [*second, *joining])


def _anew(kept: Sequence[Piece], before: Continuity) -> list[Piece]:
    places = {source: place for place, source in enumerate((*before.retrieved, *before.late))}
    kinds: dict[str, int] = {}
    for piece in kept:
        kinds.setdefault(_kind(piece), len(kinds))
    nowhere = len(places)

    def key(piece: Piece) -> tuple[bool, int, int]:
        kind, place = _kind(piece), places.get(piece.fragment.source, nowhere)
        if kind in OFTEN:
            return True, kinds[kind], place
        return False, place, kinds[kind]

    return sorted(kept, key=key)


def _kind(piece: Piece) -> str:
    return piece.fragment.source.partition(":")[0]


def held_over(before: Continuity, *, tidy: bool, patience: int) -> tuple[str, ...]:
    """What sources should offer again: all that was told, or, when tidying up, what was called for lately."""
    held = (*before.retrieved, *before.late)
    if not tidy:
        return held
    return tuple(source for source in held if before.idle.get(source, 0) <= patience)


def next_idle(told: Sequence[Piece], before: Continuity) -> dict[str, int]:
    """For how many requests each thing told has not been called for."""
    idle = before.idle
    if not idle:
        return dict.fromkeys([piece.fragment.source for piece in told], 0)
    return {
        piece.fragment.source: 0 if piece.fragment.score >= NEEDED else idle.get(piece.fragment.source, -1) + 1
        for piece in told
    }
