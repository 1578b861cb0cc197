"""The text after the cursor: how much of its beginning stays over budget (bud-3)."""

from __future__ import annotations

from fabula.context.fit.selection import Selection
from fabula.context.measure import Measure, MeasuredFragment
from fabula.context.trace import Reason
from fabula.core.fragment import Layer
from fabula.text.truncation import truncate_to_tokens


class TextAfterFit:
    """The text after the cursor, shortened from its end."""

    __slots__ = ("_heading", "_kept", "_measure", "_offered", "tokens")

    def __init__(self, pieces: list[MeasuredFragment], measure: Measure) -> None:
        self._offered = pieces
        self._kept = pieces
        self._measure = measure
        self._heading = measure.headings["after"].tokens
        self.tokens = self._count()

    def _count(self) -> int:
        return sum([piece.tokens for piece in self._kept]) + self._heading if self._kept else 0

    def drop(self, excess: int) -> int:
        """Shorten the text by at least `excess` tokens, if it has so many; return how many were freed."""
        before = self.tokens
        if excess <= 0 or not self._kept:
            return 0
        left, kept = before - excess - self._heading, []
        for piece in self._kept:
            text = truncate_to_tokens(piece.text, self._measure.tokenizer, left)
            if text:
                block = self._measure.make_block(text)
                left -= block.tokens
                kept.append(MeasuredFragment(piece.fragment, text, block.tokens, piece.section, block))
        self._kept = kept
        self.tokens = self._count()
        return before - self.tokens

    def select(self, selection: Selection) -> list[MeasuredFragment]:
        """Record what became of the text; return what stays of it."""
        kept = {id(piece.fragment): piece for piece in self._kept}
        for piece in self._offered:
            rest = kept.get(id(piece.fragment))
            reason = Reason.NO_ROOM if rest is None else Reason.KEPT if rest.text == piece.text else Reason.SHORTENED
            if reason is not Reason.KEPT:
                selection.truncated_layers.add(Layer.IMMEDIATE)
            selection.record(piece, reason, rest.tokens if rest else piece.tokens)
        return self._kept
