"""Fit: select what enters the prompt, within the token budget (bud-3, bud-5), by windows that step (pre-3, cnv-2).

Every fragment gets an outcome, also those left out. Everything was counted before; here are only
sums.

Over budget, layers are trimmed in one order: retrieved, settings, then of the immediate layer the
conversation, the text after the cursor and the text furthest before it. Rules are never cut as
text. A window that must move moves by a step, so that the next requests need not move it (pre-3).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from msgspec import Struct, field

from fabula.context.budget import Budget
from fabula.context.candidates import Candidates
from fabula.context.continuity import Continuity
from fabula.context.measure import Measure, MeasuredFragment, TextBlock
from fabula.context.recipes.model import Recipe
from fabula.context.rules_limit import fit_rules
from fabula.context.trace import FragmentOutcome, Reason
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Layer
from fabula.core.messages import Sentence, message
from fabula.core.relevance import NEEDED
from fabula.text.tokens.paragraphs import NEVER_FITS
from fabula.text.truncation import truncate_to_tokens
from fabula.text.windows import WindowCut


class Selection(Struct):
    """What enters the prompt, and what became of the rest."""

    rules: list[TextBlock] = field(default_factory=list)
    settings: list[MeasuredFragment] = field(default_factory=list)
    retrieved: list[MeasuredFragment] = field(default_factory=list)
    editor_state: list[MeasuredFragment] = field(default_factory=list)
    history: list[MeasuredFragment] = field(default_factory=list)
    after: list[MeasuredFragment] = field(default_factory=list)
    window_cut: WindowCut | None = None
    window_budget: int = 0
    window_stepped: bool = False
    retrieved_crowded: bool = False  # the retrieved layer dropped something to have tokens to spare
    truncated_layers: set[Layer] = field(default_factory=set)
    included: list[Sequence[MeasuredFragment]] = field(default_factory=list)  # whole fragments, in any order
    outcomes: list[FragmentOutcome] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    rules_left_out: tuple[str, ...] = ()

    def record(
        self, piece: MeasuredFragment, reason: Reason, tokens: int | None = None, detail: Sentence | str = ""
    ) -> None:
        """Record what became of a fragment."""
        self.outcomes.append((piece.fragment, reason, piece.tokens if tokens is None else tokens, detail))

    def drop(self, pieces: Sequence[MeasuredFragment], reason: Reason, layer: Layer) -> None:
        """Record that fragments are left out of a layer."""
        if pieces:
            self.truncated_layers.add(layer)
            self.outcomes += [(piece.fragment, reason, piece.tokens, "") for piece in pieces]


def fit(
    candidates: Candidates,
    budget: Budget,
    measure: Measure,
    recipe: Recipe,
    before: Continuity,
    *,
    same_place: bool,
    reselect: bool,
) -> Selection:
    """Select within the budget. `same_place`: the last request was of the same document or conversation."""
    selection = Selection()
    # what the immediate layer always holds
    fixed = sum([piece.tokens for piece in (*candidates.scene, *candidates.cursor, *candidates.instruction)])
    if candidates.window is not None:
        fixed += measure.headings["window"].tokens + measure.headings["left_out"].tokens
    available = budget.layer_tokens - fixed
    if available < 0:
        raise FabulaError(
            Code.INPUT_TOO_LARGE,
            message(
                "The instruction and the selection need {fixed} tokens, and this window leaves {left}. "
                "Select less, shorten the instruction, or use a model with a larger window. Nothing was changed.",
                fixed=fixed,
                left=max(budget.layer_tokens, 0),
            ),
            tokens=fixed,
        )
    last = before if same_place else None
    rules = fit_rules(candidates.constraints, candidates.rules, budget, measure, available, last)
    selection.rules = rules.blocks
    selection.included += (rules.constraints, rules.rules)
    selection.warnings += rules.warnings
    selection.drop(rules.dropped, Reason.RULES_OVERBUDGET, Layer.RULES)
    selection.rules_left_out = tuple(piece.fragment.source for piece in rules.dropped)
    available -= rules.tokens

    minimum = budget.profile.immediate.minimum
    settings = _DroppableList(candidates.settings, measure.settings_tokens)
    editor_state = _DroppableList(candidates.editor_state, measure.headings["editor_state"].tokens)
    after = _TextAfter(candidates.after, measure)
    history = _History(candidates.history, recipe)

    # What the immediate layer is sure to get: its share, and its minimum at the least.
    sure = max(budget.shares[Layer.IMMEDIATE] - fixed - editor_state.tokens - after.tokens, minimum)
    for_history = sure if candidates.window is None else sure // 4
    history.reserve(for_history if recipe.history_tokens is None else min(for_history, recipe.history_tokens))
    window = min(candidates.window_tokens, max(sure - history.reserved, minimum))

    excess = settings.tokens + editor_state.tokens + after.tokens + history.reserved + window - available
    if excess > 0:
        excess -= settings.drop(excess, budget.profile.settings.minimum)
        immediate = fixed + editor_state.tokens + history.reserved + after.tokens + window
        for floor in (minimum, 0):  # first down to the minimum of the immediate layer, then as far as needed
            wanted = min(excess, max(immediate - floor, 0))
            freed = 0
            for part in (editor_state, history, after):
                freed += part.drop(wanted - freed)
            from_window = min(max(wanted - freed, 0), window)
            window -= from_window
            immediate, excess = immediate - freed - from_window, excess - freed - from_window
            if floor:
                excess -= settings.drop(excess, 0)
    left = available - (settings.tokens + editor_state.tokens + after.tokens + history.reserved + window)

    headings = measure.headings["retrieved"].tokens + measure.headings["late"].tokens
    spare = 0 if before.is_empty else int(budget.layer_tokens * recipe.spare_ratio)
    spent = _fit_retrieved(candidates.retrieved, max(left, 0) - headings, spare, before, selection, reselect=reselect)
    left -= spent + headings if spent else 0
    # The conversation may use what the whole text would leave, under its own cap.
    unused = max(window + max(left, 0) - candidates.window_tokens, 0)
    left -= history.select(unused, recipe, before, selection, same_place=same_place)
    _drop_shown_messages(selection)
    _fit_window(candidates, window + max(left, 0), minimum, recipe, before, measure, selection, same_place=same_place)
    selection.settings = settings.select(Layer.SETTINGS, selection)
    selection.editor_state = editor_state.select(Layer.IMMEDIATE, selection)
    selection.after = after.select(selection)
    selection.included += (candidates.scene, candidates.cursor, candidates.instruction)
    return selection


def _fit_retrieved(
    pieces: Sequence[MeasuredFragment],
    available: int,
    spare: int,
    before: Continuity,
    selection: Selection,
    *,
    reselect: bool,
) -> int:
    """Select retrieved fragments; return their tokens.

    Where the layer must drop something anyway, it leaves `spare` tokens free. The text grows with every request;
    without spare tokens the layer would lose a fragment, and the prompt its cached prefix, every time. A fragment
    that is needed now is never dropped for that.
    """
    total = sum([piece.tokens for piece in pieces])
    if total <= available or not pieces:
        selection.retrieved = list(pieces)
        return total
    kept, dropped = _choose(pieces, available, available)
    if dropped and spare:
        known = {*before.retrieved, *before.late}
        if reselect or any(pieces[index].fragment.source in known for _, index in dropped):
            kept, dropped = _choose(pieces, available, available - spare)
            selection.retrieved_crowded = True
    last_rank = kept[-1][0] if kept else -1
    for rank, index in dropped:
        reason = Reason.PASSED_OVER if rank < last_rank else Reason.NO_ROOM
        selection.record(pieces[index], Reason.TOO_LARGE if pieces[index].tokens > available else reason)
    selection.truncated_layers.add(Layer.RETRIEVED)
    selection.retrieved = [pieces[index] for index in sorted(index for _, index in kept)]
    return sum([piece.tokens for piece in selection.retrieved])


_Ranked = list[tuple[int, int]]  # rank and index


def _choose(pieces: Sequence[MeasuredFragment], available: int, unneeded: int) -> tuple[_Ranked, _Ranked]:
    """Choose whole fragments, the highest score first; one that is too large is passed over.

    `available` tokens are for fragments that are needed now, `unneeded` for the others.
    """
    spent = 0
    kept: _Ranked = []
    dropped: _Ranked = []
    scores = [piece.fragment.score for piece in pieces]
    for rank, index in enumerate(sorted(range(len(pieces)), key=scores.__getitem__, reverse=True)):
        total = spent + pieces[index].tokens
        if total <= unneeded or (total <= available and scores[index] >= NEEDED):
            spent = total
            kept.append((rank, index))
        else:
            dropped.append((rank, index))
    return kept, dropped


class _DroppableList:
    """Fragments under one heading, dropped one by one, the lowest score first."""

    __slots__ = ("_dropped", "_heading", "_kept", "tokens")

    def __init__(self, pieces: list[MeasuredFragment], heading_tokens: int) -> None:
        self._kept = pieces
        self._dropped: list[MeasuredFragment] = []
        self._heading = heading_tokens
        self.tokens = sum([piece.tokens for piece in pieces]) + heading_tokens if pieces else 0

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

    def select(self, layer: Layer, selection: Selection) -> list[MeasuredFragment]:
        """Record what became of the fragments; return those that stay."""
        selection.included.append(self._kept)
        selection.drop(self._dropped, Reason.NO_ROOM, layer)
        return self._kept


class _TextAfter:
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


class _History:
    """The messages of the conversation, oldest first; the oldest are dropped first (cnv-2).

    `reserved` tokens are kept for them; where in these the history begins is decided at the end.
    """

    __slots__ = ("_capped", "_pieces", "_sums", "reserved")

    def __init__(self, pieces: list[MeasuredFragment], recipe: Recipe) -> None:
        self._pieces = pieces
        self._sums = [0]  # tokens of the newest 0, 1, 2 … messages
        for piece in reversed(pieces):
            self._sums.append(self._sums[-1] + piece.tokens)
        self._capped = self._apply_caps(recipe)
        self.reserved = 0

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

    def reserve(self, tokens: int) -> None:
        """Reserve tokens for the history, as many as it needs of these."""
        self.reserved = min(self._count_from(self._capped), max(tokens, 0))

    def drop(self, excess: int) -> int:
        """Give up reserved tokens; return how many."""
        freed = min(max(excess, 0), self.reserved)
        self.reserved -= freed
        return freed

    def select(self, unused: int, recipe: Recipe, before: Continuity, selection: Selection, *, same_place: bool) -> int:
        """Decide where the history begins; return the tokens it takes beyond the reserved ones."""
        pieces = self._pieces
        if not pieces:
            return 0
        available, cap = self.reserved + unused, recipe.history_tokens
        is_capped = cap is not None and cap <= available
        if cap is not None:
            available = min(available, cap)
        start = before.history_start if same_place else None
        known = next((index for index, piece in enumerate(pieces) if piece.fragment.source == start), None)
        if self._capped == 0 and self._count_from(0) <= available:
            first = 0
        elif known is not None and known >= self._capped and self._count_from(known) <= available:
            first = known
        else:
            first = self._step(available, 0.0 if before.is_empty else recipe.history_step)
            selection.window_stepped |= start is not None
        selection.history = pieces[first:]
        selection.included.append(selection.history)
        best = self._find_first(available)
        for index, piece in enumerate(pieces[:first]):
            beyond = Reason.HISTORY_CAP if is_capped or index < self._capped else Reason.NO_ROOM
            selection.record(piece, Reason.WINDOW_STEP if index >= best else beyond)
        if first:
            selection.truncated_layers.add(Layer.IMMEDIATE)
        return max(self._count_from(first) - self.reserved, 0)

    def _step(self, available: int, step: float) -> int:
        """Where the history begins after a step: with tokens to spare, so that it need not move again soon."""
        pieces = self._pieces
        spare = int((len(pieces) - self._capped) * step) if self._capped else 0
        first = max(self._find_first(int(available * (1 - step))), self._capped + spare)
        best = self._find_first(available)
        return first if first < len(pieces) or best == len(pieces) else len(pieces) - 1


def _drop_shown_messages(selection: Selection) -> None:
    """Drop retrieved messages that the history shows."""
    shown = {piece.fragment.source for piece in selection.history}
    for piece in [piece for piece in selection.retrieved if piece.fragment.source in shown]:
        if piece.fragment.source.startswith("history:"):
            selection.retrieved.remove(piece)
            selection.record(piece, Reason.DUPLICATE, detail=piece.fragment.source)


def _fit_window(
    candidates: Candidates,
    available: int,
    minimum: int,
    recipe: Recipe,
    before: Continuity,
    measure: Measure,
    selection: Selection,
    *,
    same_place: bool,
) -> None:
    """Decide where the text before the cursor begins: where it began in the last request, or after a step."""
    window, window_tokens, tokenizer = candidates.window, candidates.window_tokens, measure.tokenizer
    if window is None:
        return
    selection.window_budget = available
    start = before.window_start if same_place else None
    # A first request has no cached prefix to preserve: it fills all tokens.
    step = 0.0 if before.is_empty else recipe.window_step
    stepped = max(min(minimum, available), int(available * (1 - step)))
    cut: WindowCut | None = None
    if start is not None and window.still_begins_at(start, before.window_checksum):
        tokens = window.count_tokens_from(tokenizer, start)
        cut = WindowCut(start, tokens) if tokens <= available else None
    # A window that stepped returns to the beginning only where it need not step again soon.
    if window_tokens <= (available if cut is None else stepped):
        cut = WindowCut(window.begin, window_tokens)
    elif cut is None:
        cut = window.fit(tokenizer, stepped) or window.fit(tokenizer, available)
    selection.window_stepped |= start is not None and cut is not None and cut.start != start
    selection.window_cut = cut
    if cut is None:
        selection.outcomes.append((window, Reason.NO_ROOM, 0, ""))
        selection.truncated_layers.add(Layer.IMMEDIATE)
    elif cut.start > window.begin:
        count = window_tokens - cut.tokens
        if count >= NEVER_FITS:
            detail = message("far more than fits")
        elif window.begin > window.paragraphs.starts[0]:  # only a part of the text was counted
            detail = message("at least {count} tokens left out", count=count)
        else:
            detail = message("{count} tokens left out", count=count)
        selection.outcomes.append((window, Reason.SHORTENED, cut.tokens, detail))
        selection.truncated_layers.add(Layer.IMMEDIATE)
    else:
        selection.outcomes.append((window, Reason.KEPT, cut.tokens, ""))
