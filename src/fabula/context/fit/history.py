"""The history window: with which message the conversation begins, and when that moves by a step (cnv-2, pre-3)."""

from __future__ import annotations

from bisect import bisect_right

from fabula.context.fit.selection import Selection
from fabula.context.measure import MeasuredFragment
from fabula.context.reasons import explain_room
from fabula.context.recipes.model import Recipe
from fabula.context.trace import Reason
from fabula.core.fragment import Fragment, Layer
from fabula.core.messages import Sentence, message

_NEARLY_FULL = 0.75  # of the tokens that it may have
_MESSAGE_STEP = 0.5  # at most, of a window that is capped by messages, which are few


def count_after_step(messages: int) -> int:
    """How many messages a window that is capped by messages keeps, at least, when it steps."""
    return messages - int(messages * _MESSAGE_STEP)


class HistoryFit:
    """The messages of the conversation, oldest first; the oldest are dropped first (cnv-2).

    `reserved` tokens are kept for them; `settle` decides where in these the history begins.
    """

    __slots__ = (
        "_capped",
        "_first",
        "_limit",
        "_pieces",
        "_sums",
        "_token_capped",
        "_unstepped",
        "_unused",
        "reserved",
        "wanted",
    )

    def __init__(self, pieces: list[MeasuredFragment], recipe: Recipe) -> None:
        self._pieces = pieces
        self._sums = [0]  # tokens of the newest 0, 1, 2 … messages
        for piece in reversed(pieces):
            self._sums.append(self._sums[-1] + piece.tokens)
        self._capped = self._apply_caps(recipe)  # the oldest within the caps on messages and characters
        cap = recipe.history_tokens
        self._token_capped = self._capped if cap is None else self._find_first(cap)  # and within that on tokens
        self._first = self._token_capped  # where it begins
        self._unstepped: int | None = None  # where it would begin without a step
        self._limit = 0  # the tokens that it may have where its window moves in steps
        self._unused = 0  # in the end
        self.wanted = self._count_from(self._token_capped)  # the tokens of all messages within the caps
        self.reserved = self.wanted

    @property
    def newest(self) -> int:
        """The tokens of the newest message."""
        return self._sums[1] if self._token_capped < len(self._pieces) else 0

    @property
    def growth(self) -> int:
        """The tokens by which a conversation that stepped will grow until it steps again."""
        return max(self._limit - self._count_from(self._first), 0) if self._first else 0

    @property
    def steps_soon(self) -> bool:
        """Whether a conversation that moves in steps takes most of the tokens that it may have."""
        return self._count_from(self._first) >= _NEARLY_FULL * self._limit > 0

    @property
    def shown(self) -> list[MeasuredFragment]:
        """The messages that the prompt shows."""
        return self._pieces[self._first :]

    def _apply_caps(self, recipe: Recipe) -> int:
        """The index of the oldest message within the caps on messages and characters."""
        first = 0
        if recipe.history_messages is not None:
            first = max(first, len(self._pieces) - recipe.history_messages)
        if recipe.history_characters is not None:
            characters = 0
            for index in range(len(self._pieces) - 1, -1, -1):
                characters += len(self._pieces[index].text)
                if characters > recipe.history_characters:
                    return max(first, index + 1)
        return first

    def _count_from(self, first: int) -> int:
        return self._sums[len(self._pieces) - first]

    def _find_first(self, available: int) -> int:
        """The index of the oldest message from which all fit."""
        return max(len(self._pieces) - (bisect_right(self._sums, max(available, 0)) - 1), self._capped)

    def begin(self, available: int) -> None:
        """Begin with the oldest message from which all fit, in a prompt that no other one came before."""
        self._first = max(self._find_first(available), self._token_capped)
        self.reserved = self._count_from(self._first)

    def move(self, start: str, available: int, recipe: Recipe, *, must_step: bool) -> bool:
        """Begin where the last prompt began, while all from there fit, else after a step; return whether it stepped."""
        pieces, cap = self._pieces, recipe.history_tokens
        self._limit = available if cap is None else min(available, cap)
        known = next((index for index, piece in enumerate(pieces) if piece.fragment.source == start), None)
        self._unstepped = unstepped = max(self._find_first(available), self._token_capped)
        if must_step and known is not None:
            self._first, stepped = max(self._step(available, unstepped, recipe), known), True
        elif unstepped == 0:
            stepped = False
        elif known is not None and known >= unstepped:
            self._first, stepped = known, False
        else:
            self._first, stepped = self._step(available, unstepped, recipe), True
        self.reserved = self._count_from(self._first)
        return stepped

    def _step(self, available: int, unstepped: int, recipe: Recipe) -> int:
        """Where the history begins after a step: with tokens to spare, so that it need not move again soon."""
        pieces, cap, step = self._pieces, recipe.history_tokens, recipe.history_step
        tokens = available if cap is None else min(available, cap)
        if self._capped and len(pieces) - self._capped == recipe.history_messages:  # few messages: half of them stay
            step = min(step, _MESSAGE_STEP)
        spare = int((len(pieces) - self._capped) * step) if self._capped else 0
        first = max(self._find_first(int(tokens * (1 - step))), self._capped + spare)
        return first if first < len(pieces) or unstepped == len(pieces) else len(pieces) - 1

    def drop(self, excess: int) -> int:
        """Give up reserved tokens; return how many."""
        freed = min(max(excess, 0), self.reserved)
        self.reserved -= freed
        return freed

    def settle(self, unused: int) -> int:
        """Show the messages that fit into the reserved and the unused tokens; return how many more are used."""
        if not self._pieces:
            return 0
        self._first = max(self._first, self._find_first(self.reserved + unused))
        return self._count_from(self._first) - self.reserved

    def select(self, unused: int, selection: Selection) -> list[MeasuredFragment]:
        """Record what became of the messages, with so many tokens unused in the end; return those that are shown."""
        selection.included.append(self.shown)
        for index, piece in enumerate(self._pieces[: self._first]):
            if index < self._token_capped:
                reason = Reason.HISTORY_CAP
            elif self._unstepped is not None and index >= self._unstepped:
                reason = Reason.WINDOW_STEP
            elif self._count_from(index) - self._count_from(self._first) <= unused:
                reason = Reason.HEADROOM
            else:
                reason = Reason.NO_ROOM if piece.tokens > unused else Reason.LOWER_RANK
            selection.record(piece, reason, detail=self)
        self._unused = unused
        if self._first:
            selection.truncated_layers.add(Layer.IMMEDIATE)
        return self.shown

    def explain(self, fragment: Fragment, reason: Reason) -> Sentence | None:
        """What took the room of a message that was left out."""
        if reason is Reason.LOWER_RANK:
            return message("a newer message did not fit, and the conversation is shown without gaps")
        own = next((piece for piece in self._pieces if piece.fragment is fragment), None)
        if own is None or reason is not Reason.NO_ROOM:
            return None
        return explain_room(reason, kinds=["message"] * len(self.shown), needed=own.tokens, left=self._unused)
