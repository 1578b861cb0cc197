"""The retrieved layer: which fragments stay, whole, and how many tokens are left free for the text (bud-3, pre-3)."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set

from fabula.context.continuity import Continuity
from fabula.context.fit.selection import Selection
from fabula.context.measure import MeasuredFragment
from fabula.context.reasons import explain_room
from fabula.context.trace import Reason, name_fragment
from fabula.core.fragment import Fragment, Layer
from fabula.core.messages import Sentence
from fabula.core.relevance import NEEDED


def split_kinds(
    pieces: list[MeasuredFragment], kinds: Collection[str]
) -> tuple[list[MeasuredFragment], list[MeasuredFragment]]:
    """Retrieved fragments of other kinds, and those of these kinds."""
    if not kinds:
        return pieces, []
    found = [piece for piece in pieces if piece.kind in kinds]
    return ([piece for piece in pieces if piece not in found], found) if found else (pieces, [])


def drop_shown_messages(
    retrieved: list[MeasuredFragment], shown: Sequence[MeasuredFragment], selection: Selection
) -> list[MeasuredFragment]:
    """The retrieved fragments without messages that the history shows."""
    if not shown:
        return retrieved
    sources = {source for piece in shown if (source := piece.fragment.source).startswith("history:")}
    if sources.isdisjoint([piece.fragment.source for piece in retrieved]):
        return retrieved
    for piece in retrieved:
        if piece.fragment.source in sources:
            selection.record(piece, Reason.DUPLICATE, detail=name_fragment(piece.fragment))
    return [piece for piece in retrieved if piece.fragment.source not in sources]


_Ranked = list[tuple[int, int]]  # rank and index


class RetrievedFit:
    """The retrieved fragments, chosen whole, the highest score first; one that is too large is passed over."""

    __slots__ = ("_available", "_dropped", "_fitting", "_heading", "_kept", "_most", "_pieces", "tokens")

    def __init__(self, pieces: Sequence[MeasuredFragment], available: int, most: int, heading_tokens: int) -> None:
        """`most` are the tokens that are left of the budget where everything else that can be dropped is dropped."""
        self._pieces = pieces
        self._available = available
        self._most = most
        self._heading = heading_tokens
        self._kept: _Ranked | None = None  # None: all of them
        self._dropped: _Ranked = []
        self._fitting: _Ranked = []  # those that would fit if no tokens were kept free
        self.tokens = 0

    def choose(self, spare: int, before: Continuity, selection: Selection, *, growth: int, reselect: bool) -> None:
        """Choose what fits.

        Where the layer must drop something anyway, it leaves `spare` tokens free. The text grows with every request;
        without spare tokens the layer would lose a fragment, and the prompt its cached prefix, every time. A fragment
        that is needed now is never dropped for that. `growth` are the tokens that a conversation will take until its
        window steps again, which is when the layer is selected anew: what is new and not needed leaves them free.
        """
        pieces, available = self._pieces, self._available
        total = _sum_tokens(pieces)
        calm = available - growth - spare  # within it nothing has to go before the window steps again
        if total <= (calm if growth else available) or not pieces:
            self.tokens = total + self._heading if pieces else 0
            return
        known = {*before.retrieved, *before.late}
        stays = frozenset[str]() if reselect else known
        kept, dropped = _choose(pieces, available, calm if growth else available, stays)
        is_crowded = reselect or any(pieces[index].fragment.source in known for _, index in dropped)
        if dropped and spare and is_crowded:
            self._fitting = kept
            kept, dropped = _choose(pieces, available, calm)
            selection.retrieved_crowded = True
        self._kept, self._dropped = kept, dropped
        self.tokens = _sum_tokens([pieces[index] for _, index in kept]) + self._heading if kept else 0

    def add_needed(self, unused: int) -> int:
        """Add what is needed now and fits into tokens that were unused; return how many it takes."""
        before = self.tokens
        for rank, index in [*self._dropped]:
            piece = self._pieces[index]
            size = piece.tokens + (0 if self._kept else self._heading)
            if self._kept is not None and piece.fragment.score >= NEEDED and self.tokens - before + size <= unused:
                self.tokens += size
                self._dropped.remove((rank, index))
                self._kept = sorted([*self._kept, (rank, index)])
        return self.tokens - before

    def select(self, unused: int, selection: Selection) -> list[MeasuredFragment]:
        """Record what became of the fragments, with so many tokens unused in the end; return those that stay."""
        pieces = self._pieces
        if self._kept is None:
            return list(pieces)
        last_rank = self._kept[-1][0] if self._kept else -1
        for rank, index in self._dropped:
            size = pieces[index].tokens
            if (rank, index) in self._fitting or size + (0 if self._kept else self._heading) <= unused:
                reason = Reason.HEADROOM
            elif size > self._most:
                reason = Reason.TOO_LARGE
            else:
                reason = Reason.PASSED_OVER if rank < last_rank else Reason.NO_ROOM
            selection.record(pieces[index], reason, detail=self)
        if self._dropped:
            selection.truncated_layers.add(Layer.RETRIEVED)
        return [pieces[index] for index in sorted(index for _, index in self._kept)]

    def explain(self, fragment: Fragment, reason: Reason) -> Sentence | None:
        """What took the room of a fragment that was left out."""
        own = next((one for one in self._dropped if self._pieces[one[1]].fragment is fragment), None)
        if own is None or self._kept is None or reason is Reason.HEADROOM:
            return None
        higher = [self._pieces[index] for rank, index in self._kept if rank < own[0]]
        return explain_room(
            reason,
            kinds=[piece.kind for piece in higher],
            needed=self._pieces[own[1]].tokens,
            left=self._most if reason is Reason.TOO_LARGE else self._available - sum(piece.tokens for piece in higher),
        )


def _count_heading(piece: MeasuredFragment, told: Collection[tuple[str, str] | None]) -> int:
    """The tokens of the heading of a message's conversation, unless it is told already."""
    return 0 if piece.heading is None or piece.conversation in told else piece.heading.tokens


def _sum_tokens(pieces: Sequence[MeasuredFragment]) -> int:
    headings = {piece.conversation: piece.heading.tokens for piece in pieces if piece.heading is not None}
    return sum([piece.tokens for piece in pieces]) + sum(headings.values())


def _choose(
    pieces: Sequence[MeasuredFragment], available: int, unneeded: int, stays: Set[str] = frozenset()
) -> tuple[_Ranked, _Ranked]:
    """Choose whole fragments, the highest score first; one that is too large is passed over.

    `available` tokens are for fragments that are needed now or stay, `unneeded` for the others.
    """
    spent, told = 0, set[tuple[str, str] | None]()
    kept: _Ranked = []
    dropped: _Ranked = []
    scores = [piece.fragment.score for piece in pieces]
    for rank, index in enumerate(sorted(range(len(pieces)), key=scores.__getitem__, reverse=True)):
        total = spent + pieces[index].tokens + _count_heading(pieces[index], told)
        is_sure = scores[index] >= NEEDED or pieces[index].fragment.source in stays
        if total <= unneeded or (total <= available and is_sure):
            spent = total
            kept.append((rank, index))
            told.add(pieces[index].conversation)
        else:
            dropped.append((rank, index))
    return kept, dropped
