"""Lists of fragments under a heading: which are dropped over budget, the lowest score first, and restored (bud-3)."""

from __future__ import annotations

from fabula.context.fit.selection import Selection
from fabula.context.measure import MeasuredFragment
from fabula.context.reasons import explain_room
from fabula.context.trace import Reason
from fabula.core.fragment import Fragment, Layer
from fabula.core.messages import Sentence, message


class DroppableList:
    """Fragments under one heading, dropped one by one, the lowest score first."""

    __slots__ = ("_dropped", "_heading", "_kept", "_pieces", "_unused", "tokens")

    def __init__(self, pieces: list[MeasuredFragment], heading_tokens: int) -> None:
        self._pieces = pieces
        self._kept = pieces
        self._dropped: list[MeasuredFragment] = []
        self._heading = heading_tokens
        self._unused = 0  # in the end
        self.tokens = sum([piece.tokens for piece in pieces]) + heading_tokens if pieces else 0

    @property
    def kept(self) -> list[MeasuredFragment]:
        """The fragments that stay."""
        return self._kept

    def drop(self, excess: int, floor: int = 0) -> int:
        """Drop fragments until `excess` tokens are freed, and none that would leave less than `floor`."""
        before = self.tokens
        if excess <= 0 or before <= floor:
            return 0
        order = sorted(range(len(self._kept)), key=lambda index: (self._kept[index].fragment.score, -index))
        now = before
        dropped: list[int] = []
        for index in order:
            if now <= max(before - excess, 0):
                break
            size = self._kept[index].tokens + (self._heading if len(dropped) == len(self._kept) - 1 else 0)
            if now - size < floor:
                break
            now -= size
            dropped.append(index)
        self._dropped += [self._kept[index] for index in dropped]
        gone = set(dropped)
        self._kept = [piece for index, piece in enumerate(self._kept) if index not in gone]
        self.tokens = now
        return before - now

    def restore(self, available: int) -> int:
        """Take back the last ones dropped that fit into the available tokens; return how many tokens they take."""
        before = self.tokens
        while self._dropped:
            size = self._dropped[-1].tokens + (0 if self._kept else self._heading)
            if self.tokens + size - before > available:
                break
            self._kept = [*self._kept, self._dropped.pop()]
            self.tokens += size
        if self.tokens > before:
            kept = {id(piece) for piece in self._kept}
            self._kept = [piece for piece in self._pieces if id(piece) in kept]
        return self.tokens - before

    def select(
        self, layer: Layer, unused: int, selection: Selection, *, is_included: bool = True
    ) -> list[MeasuredFragment]:
        """Record what became of the fragments, with so many tokens unused in the end; return those that stay."""
        if is_included:
            selection.included.append(self._kept)
        if self._dropped:
            selection.truncated_layers.add(layer)
            is_free = self._dropped[-1].tokens + (0 if self._kept else self._heading) <= unused
            smaller = Reason.HEADROOM if is_free else Reason.LOWER_RANK
            self._unused = unused
            for piece in self._dropped:
                selection.record(piece, Reason.NO_ROOM if piece.tokens > unused else smaller, detail=self)
        return self._kept

    def explain(self, fragment: Fragment, reason: Reason) -> Sentence | None:
        """What took the room of a fragment that was left out."""
        if reason is Reason.LOWER_RANK:
            return message("one that matters more did not fit, so it is left out too")
        own = next((piece for piece in self._dropped if piece.fragment is fragment), None)
        if own is None or reason is Reason.HEADROOM:
            return None
        return explain_room(reason, kinds=[piece.kind for piece in self._kept], needed=own.tokens, left=self._unused)
