"""Fit: what is trimmed over budget, in which order (bud-3, bud-5); text and history windows step (pre-3, cnv-2).

Every fragment gets an outcome, also those left out. Everything was counted before; here are only
sums.

Over budget, layers are trimmed in one order: retrieved, settings, then of the immediate layer the
conversation, the text after the cursor and the text furthest before it. Of the retrieved layer a
recipe may keep some kinds longer than the conversation. Rules are never cut as text. A window that
must move moves by a step, so that the next requests need not move it (pre-3).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence

from msgspec import Struct, field

from fabula.context.budget import Budget
from fabula.context.candidates import Candidates
from fabula.context.continuity import Continuity
from fabula.context.measure import Measure, MeasuredFragment, TextBlock
from fabula.context.reasons import explain_room
from fabula.context.recipes.model import Recipe
from fabula.context.rules_limit import fit_rules
from fabula.context.trace import FragmentOutcome, OutcomeExplanation, Reason, name_fragment
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Fragment, Layer
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
        self,
        piece: MeasuredFragment,
        reason: Reason,
        tokens: int | None = None,
        detail: Sentence | str | OutcomeExplanation = "",
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
    headings = measure.headings["retrieved"].tokens + measure.headings["late"].tokens
    retrieved, kept_longest = _split_kinds(candidates.retrieved, recipe.kept_longest)
    settings = _DroppableList(candidates.settings, measure.settings_tokens)
    editor_state = _DroppableList(candidates.editor_state, measure.headings["editor_state"].tokens)
    longest = _DroppableList(kept_longest, headings)
    after = _TextAfter(candidates.after, measure)
    history = _History(candidates.history, recipe)

    # What the immediate layer is sure to get: its share, and its minimum at the least.
    sure = max(budget.shares[Layer.IMMEDIATE] - fixed - editor_state.tokens - after.tokens, minimum)
    history_share = sure if candidates.window is None else sure // 4
    window = min(candidates.window_tokens, max(sure - min(history.wanted, history_share), minimum))
    others = settings.tokens + editor_state.tokens + after.tokens + longest.tokens + window
    if before.history_start is not None and same_place and history.wanted:
        # In a running conversation the window steps before it would cost settings or what is needed now.
        needed = sum([piece.tokens for piece in retrieved if piece.fragment.score >= NEEDED])
        room = available - others - min(needed + headings if needed else 0, budget.shares[Layer.RETRIEVED])
        selection.window_stepped |= history.move(before.history_start, max(room, history_share), recipe)

    excess = others + history.reserved - available
    if excess > 0:
        excess -= settings.drop(excess, budget.profile.settings.minimum)
        immediate = fixed + editor_state.tokens + history.reserved + after.tokens + window
        for floor in (minimum, 0):  # first down to the minimum of the immediate layer, then as far as needed
            wanted = min(excess, max(immediate - floor, 0))
            freed = 0
            for part in (editor_state, history):
                freed += part.drop(wanted - freed)
            if not floor:
                excess -= longest.drop(excess - freed)
                wanted = min(wanted, excess)
            freed += after.drop(wanted - freed)
            from_window = min(max(wanted - freed, 0), window)
            window -= from_window
            immediate, excess = immediate - freed - from_window, excess - freed - from_window
            if floor:
                excess -= settings.drop(excess, 0)
    spent = settings.tokens + editor_state.tokens + after.tokens + longest.tokens + history.reserved + window
    # Fragments are dropped whole. What that freed too much goes to the most important that it holds.
    left = max(available - spent, 0)
    left -= history.settle(left)
    for part in (longest, editor_state, settings):
        left -= part.restore(left)

    retrieved = _drop_shown_messages(retrieved, history.shown, selection)
    spare = 0 if before.is_empty else int(budget.layer_tokens * recipe.spare_ratio)
    heading = 0 if longest.tokens else headings
    chosen = _RetrievedFit(retrieved, left - heading, available - heading, heading)
    chosen.choose(spare, before, selection, reselect=reselect)
    left -= chosen.tokens
    _fit_window(candidates, window + left, minimum, recipe, before, measure, selection, same_place=same_place)
    unused = window + left - (selection.window_cut.tokens if selection.window_cut is not None else 0)
    if unused > left:  # the text stepped
        freed = chosen.add_needed(unused)
        unused, selection.window_budget = unused - freed, selection.window_budget - freed
    selection.history = history.select(unused, selection)
    selection.retrieved = chosen.select(unused, selection)
    if longest.tokens:
        kept = {id(piece) for piece in (*selection.retrieved, *longest.kept)}
        selection.retrieved = [piece for piece in candidates.retrieved if id(piece) in kept]
    longest.select(Layer.RETRIEVED, unused, selection, is_included=False)
    selection.settings = settings.select(Layer.SETTINGS, unused, selection)
    selection.editor_state = editor_state.select(Layer.IMMEDIATE, unused, selection)
    selection.after = after.select(selection)
    selection.included += (candidates.scene, candidates.cursor, candidates.instruction)
    return selection


def _split_kinds(
    pieces: list[MeasuredFragment], kinds: Collection[str]
) -> tuple[list[MeasuredFragment], list[MeasuredFragment]]:
    """Retrieved fragments of other kinds, and those of these kinds."""
    if not kinds:
        return pieces, []
    found = [piece for piece in pieces if _kind(piece) in kinds]
    return ([piece for piece in pieces if piece not in found], found) if found else (pieces, [])


_Ranked = list[tuple[int, int]]  # rank and index


class _RetrievedFit:
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

    def choose(self, spare: int, before: Continuity, selection: Selection, *, reselect: bool) -> None:
        """Choose what fits.

        Where the layer must drop something anyway, it leaves `spare` tokens free. The text grows with every request;
        without spare tokens the layer would lose a fragment, and the prompt its cached prefix, every time. A fragment
        that is needed now is never dropped for that.
        """
        pieces, available = self._pieces, self._available
        total = sum([piece.tokens for piece in pieces])
        if total <= available or not pieces:
            self.tokens = total + self._heading if pieces else 0
            return
        kept, dropped = _choose(pieces, available, available)
        if dropped and spare:
            known = {*before.retrieved, *before.late}
            if reselect or any(pieces[index].fragment.source in known for _, index in dropped):
                self._fitting = kept
                kept, dropped = _choose(pieces, available, available - spare)
                selection.retrieved_crowded = True
        self._kept, self._dropped = kept, dropped
        self.tokens = sum([pieces[index].tokens for _, index in kept]) + self._heading if kept else 0

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
            kinds=[_kind(piece) for piece in higher],
            needed=self._pieces[own[1]].tokens,
            left=self._most if reason is Reason.TOO_LARGE else self._available - sum(piece.tokens for piece in higher),
        )


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


def _kind(piece: MeasuredFragment) -> str:
    return piece.fragment.source.partition(":")[0]


class _DroppableList:
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
        return explain_room(reason, kinds=map(_kind, self._kept), needed=own.tokens, left=self._unused)


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

    `reserved` tokens are kept for them; `settle` decides where in these the history begins.
    """

    __slots__ = ("_capped", "_first", "_pieces", "_sums", "_token_capped", "_unstepped", "_unused", "reserved")

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
        self._unused = 0  # in the end
        self.reserved = self.wanted

    @property
    def wanted(self) -> int:
        """The tokens of all messages within the caps."""
        return self._count_from(self._token_capped)

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

    def move(self, start: str, available: int, recipe: Recipe) -> bool:
        """Begin where the last prompt began, while all from there fit, else after a step; return whether it stepped."""
        pieces = self._pieces
        known = next((index for index, piece in enumerate(pieces) if piece.fragment.source == start), None)
        self._unstepped = unstepped = max(self._find_first(available), self._token_capped)
        if unstepped == 0:
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


def _drop_shown_messages(
    retrieved: list[MeasuredFragment], shown: Sequence[MeasuredFragment], selection: Selection
) -> list[MeasuredFragment]:
    """The retrieved fragments without messages that the history shows."""
    sources = {source for piece in shown if (source := piece.fragment.source).startswith("history:")}
    if sources.isdisjoint([piece.fragment.source for piece in retrieved]):
        return retrieved
    for piece in retrieved:
        if piece.fragment.source in sources:
            selection.record(piece, Reason.DUPLICATE, detail=name_fragment(piece.fragment))
    return [piece for piece in retrieved if piece.fragment.source not in sources]


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
