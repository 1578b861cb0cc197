"""Fit: choose what enters the prompt.

Every fragment gets a verdict, the losers too. Counting happened before: here are only sums.

Over budget, things give way in one order: retrieved, settings, then of the immediate layer the
conversation, the text after the cursor and the text furthest before it. Rules are never cut as
text. A window that must move moves by a step, so that the next requests need not move it again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from msgspec import Struct, field

from fabula.context.budget import Budget
from fabula.context.candidates import Offer
from fabula.context.continuity import NOTHING, Continuity
from fabula.context.measure import Measure, Piece
from fabula.context.recipes.model import Recipe
from fabula.context.rules_line import fit_rules
from fabula.context.trace import Outcome, Reason
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Layer
from fabula.core.relevance import NEEDED
from fabula.text.tokens.paragraphs import NEVER
from fabula.text.windows import Cut, shorten


class Fitting(Struct):
    """What stays, what it costs, and what became of the rest."""

    constraints: list[Piece] = field(default_factory=list)
    rules: list[Piece] = field(default_factory=list)
    settings: list[Piece] = field(default_factory=list)
    retrieved: list[Piece] = field(default_factory=list)
    desk: list[Piece] = field(default_factory=list)
    history: list[Piece] = field(default_factory=list)
    after: list[Piece] = field(default_factory=list)
    cut: Cut | None = None
    window_room: int = 0
    stepped: bool = False
    crowded: bool = False
    truncated: set[Layer] = field(default_factory=set)
    kept: list[Sequence[Piece]] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    rules_left_out: tuple[str, ...] = ()


def fit(
    offer: Offer, budget: Budget, measure: Measure, recipe: Recipe, before: Continuity, *, same_place: bool, fresh: bool
) -> Fitting:
    """Choose, within the budget."""
    fitting = Fitting()
    fixed = _fixed(offer, measure)
    room = budget.layers - fixed
    if room < 0:
        raise _too_much(fixed, budget)
    room -= fit_rules(offer, fitting, budget, measure, room, before if same_place else None)

    minimum = budget.profile.immediate.minimum
    settings = _Heap(offer.settings, measure.settings_line if offer.settings else 0)
    desk = _Heap(offer.desk, measure.headings["desk"].tokens if offer.desk else 0)
    after = _After(offer.after, measure)
    history = _History(offer.history, recipe)
    window = _Window(offer, measure)

    # What the immediate layer is sure to be offered: its share, and its minimum at the least.
    sure = max(budget.shares[Layer.IMMEDIATE] - fixed - desk.tokens - after.tokens, minimum)
    talk = sure if offer.window is None else sure // 4
    history.reserve(talk if recipe.history_tokens is None else min(talk, recipe.history_tokens))
    core = min(window.full, max(sure - history.reserved, minimum))

    over = settings.tokens + desk.tokens + after.tokens + history.reserved + core - room
    if over > 0:
        over -= settings.shed(over, budget.profile.settings.minimum)
        immediate = fixed + desk.tokens + history.reserved + after.tokens + core
        for least in (minimum, 0):  # first as far as the immediate layer's minimum, then as far as need be
            give = min(over, max(immediate - least, 0))
            given = 0
            for part in (desk, history, after):
                given += part.shed(give - given)
            taken = min(max(give - given, 0), core)
            core -= taken
            immediate, over = immediate - given - taken, over - given - taken
            if least:
                over -= settings.shed(over, 0)
    left = room - (settings.tokens + desk.tokens + after.tokens + history.reserved + core)

    headings = measure.headings["retrieved"].tokens + measure.headings["late"].tokens
    spare = int(budget.layers * recipe.spare) if before is not NOTHING else 0
    taken = _fit_retrieved(offer.retrieved, max(left, 0) - headings, spare, before, fitting, fresh=fresh)
    left -= taken + headings if taken else 0
    # What the whole text would leave is the conversation's, under its own cap.
    unasked = max(core + max(left, 0) - window.full, 0)
    left -= _settle_history(fitting, history, unasked, recipe, before, same_place=same_place)
    _drop_repeated(fitting)
    if offer.window is not None:
        _settle_window(fitting, window, core + max(left, 0), minimum, recipe, before, offer, same_place=same_place)
    fitting.settings = settings.settle(fitting, Layer.SETTINGS)
    fitting.desk = desk.settle(fitting, Layer.IMMEDIATE)
    after.settle(fitting)
    fitting.kept += (offer.scene, offer.mark, offer.closing)
    return fitting


def _fixed(offer: Offer, measure: Measure) -> int:
    """What the immediate layer cannot do without."""
    fixed = sum([piece.tokens for piece in (*offer.scene, *offer.mark, *offer.closing)])
    if offer.window is not None:
        fixed += measure.headings["window"].tokens + measure.headings["left_out"].tokens
    return fixed


def _too_much(fixed: int, budget: Budget) -> FabulaError:
    return FabulaError(
        Code.INPUT_TOO_LARGE,
        f"The instruction and the selection need {fixed} tokens, and this window leaves {max(budget.layers, 0)}. "
        "Select less, shorten the instruction, or use a model with a larger window. Nothing was changed.",
        tokens=fixed,
    )


def _fit_retrieved(
    pieces: Sequence[Piece], room: int, spare: int, before: Continuity, fitting: Fitting, *, fresh: bool
) -> int:
    """Choose, and leave some room to spare where the layer must give something up anyway.

    The text grows with every request. Without that room the layer would lose a piece, and the prompt
    its cached prefix, every time; with it, only now and then. What is needed now never makes way for it.
    """
    whole = sum([piece.tokens for piece in pieces])
    if whole <= room or not pieces:
        fitting.retrieved = list(pieces)
        return whole
    kept, refused = _choose(pieces, room, room)
    if refused and spare:
        told = {*before.retrieved, *before.late}
        lost = any(piece.fragment.source in told for _, piece in refused)
        if fresh or lost:
            kept, refused = _choose(pieces, room, room - spare)
            fitting.crowded = True
    last = kept[-1][0] if kept else -1
    outcomes = fitting.outcomes
    for rank, piece in refused:
        reason = Reason.PASSED_OVER if rank < last else Reason.NO_ROOM
        outcomes.append((piece.fragment, Reason.TOO_LARGE if piece.tokens > room else reason, piece.tokens, ""))
    fitting.truncated.add(Layer.RETRIEVED)
    stays = {id(piece) for _, piece in kept}
    fitting.retrieved = [piece for piece in pieces if id(piece) in stays]
    return sum([piece.tokens for piece in fitting.retrieved])


_Ranked = list[tuple[int, Piece]]


def _choose(pieces: Sequence[Piece], room: int, welcome: int) -> tuple[_Ranked, _Ranked]:
    """The best first, whole or not at all; one that is too large is passed over, not fatal.

    `room` is for what is needed now, `welcome` for what is merely welcome.
    """
    spent = 0
    kept: _Ranked = []
    refused: _Ranked = []
    scores = [piece.fragment.score for piece in pieces]
    ranked = sorted(range(len(pieces)), key=scores.__getitem__, reverse=True)
    for rank, at in enumerate(ranked):
        piece = pieces[at]
        after = spent + piece.tokens
        if after <= welcome or (after <= room and scores[at] >= NEEDED):
            spent = after
            kept.append((rank, piece))
        else:
            refused.append((rank, piece))
    return kept, refused


class _Heap:
    """Pieces that go one by one, the lowest ranked first."""

    __slots__ = ("_heading", "gone", "kept", "tokens")

    def __init__(self, pieces: list[Piece], heading: int) -> None:
        self.kept = pieces
        self.gone: list[Piece] = []
        self._heading = heading
        self.tokens = sum([piece.tokens for piece in pieces]) + heading if pieces else 0

    def shed(self, over: int, down_to: int = 0) -> int:
        """Give up to `over` tokens, without falling below `down_to` by the last one given."""
        before = self.tokens
        if over <= 0 or before <= down_to:
            return 0
        order = sorted(range(len(self.kept)), key=lambda at: (self.kept[at].fragment.score, -at))
        now = before
        gone: set[int] = set()
        for at in order:
            if now <= max(before - over, 0):
                break
            size = self.kept[at].tokens + (self._heading if len(gone) == len(self.kept) - 1 else 0)
            if now - size < down_to:
                break
            now -= size
            gone.add(at)
        self.gone += [self.kept[at] for at in order if at in gone]
        self.kept = [piece for at, piece in enumerate(self.kept) if at not in gone]
        self.tokens = now
        return before - now

    def settle(self, fitting: Fitting, layer: Layer) -> list[Piece]:
        fitting.kept.append(self.kept)
        if self.gone:
            fitting.truncated.add(layer)
            fitting.outcomes += [(piece.fragment, Reason.NO_ROOM, piece.tokens, "") for piece in self.gone]
        return self.kept


class _After:
    """Text behind the cursor: what is nearest to the cursor stays longest."""

    __slots__ = ("_kept", "_measure", "_offered", "tokens")

    def __init__(self, pieces: Sequence[Piece], measure: Measure) -> None:
        self._offered = pieces
        self._kept = list(pieces)
        self._measure = measure
        self.tokens = self._sum()

    def _sum(self) -> int:
        return sum([piece.tokens for piece in self._kept]) + self._measure.headings["after"].tokens if self._kept else 0

    def shed(self, over: int) -> int:
        before = self.tokens
        if over <= 0 or not self._kept:
            return 0
        room, kept = before - over - self._measure.headings["after"].tokens, []
        for piece in self._kept:
            text = shorten(piece.text, self._measure.tokenizer, room)
            if text:
                unit = self._measure.unit(text)
                piece = Piece(piece.fragment, text, unit.tokens, piece.seat, unit)
                room -= piece.tokens
                kept.append(piece)
        self._kept = kept
        self.tokens = self._sum()
        return before - self.tokens

    def settle(self, fitting: Fitting) -> None:
        kept = {id(piece.fragment): piece for piece in self._kept}
        for piece in self._offered:
            stays = kept.get(id(piece.fragment))
            reason = Reason.NO_ROOM if stays is None else Reason.KEPT if stays.text == piece.text else Reason.SHORTENED
            if reason is not Reason.KEPT:
                fitting.truncated.add(Layer.IMMEDIATE)
            fitting.outcomes.append((piece.fragment, reason, stays.tokens if stays else piece.tokens, ""))
        fitting.after = self._kept


class _Window:
    """The text before the cursor, measured."""

    def __init__(self, offer: Offer, measure: Measure) -> None:
        self._stretch = offer.window
        self._tokenizer = measure.tokenizer
        self.full = offer.window_tokens

    def cost(self, start: int) -> int:
        return self._stretch.cost(self._tokenizer, start) if self._stretch is not None else 0

    def fit(self, room: int) -> Cut | None:
        return self._stretch.fit(self._tokenizer, room) if self._stretch is not None else None


def _settle_window(
    fitting: Fitting,
    window: _Window,
    room: int,
    minimum: int,
    recipe: Recipe,
    before: Continuity,
    offer: Offer,
    *,
    same_place: bool,
) -> None:
    stretch = offer.window
    assert stretch is not None
    fitting.window_room = room
    # With nothing to follow on from there is no prefix to keep: fill the room.
    given_up = recipe.window_step if before is not NOTHING else 0.0
    stepped_to = max(min(minimum, room), int(room * (1 - given_up)))
    start = before.window_start if same_place else None
    holds = start is not None and stretch.begins(start, before.window_words) and window.cost(start) <= room
    # A window that stepped goes back to the beginning only where it need not step again soon.
    if window.full <= (stepped_to if holds else room):
        cut: Cut | None = Cut(stretch.begin, window.full)
    elif holds and start is not None:
        cut = Cut(start, window.cost(start))
    else:
        cut = window.fit(stepped_to) or window.fit(room)
    fitting.stepped |= start is not None and cut is not None and cut.start != start
    fitting.cut = cut
    if cut is None:
        fitting.outcomes.append((stretch, Reason.NO_ROOM, 0, ""))
        fitting.truncated.add(Layer.IMMEDIATE)
    elif cut.start > stretch.begin:
        left_out = _left_out(window.full - cut.tokens, more=stretch.begin > stretch.paragraphs.starts[0])
        fitting.outcomes.append((stretch, Reason.SHORTENED, cut.tokens, left_out))
        fitting.truncated.add(Layer.IMMEDIATE)
    else:
        fitting.outcomes.append((stretch, Reason.KEPT, cut.tokens, ""))


def _left_out(tokens: int, *, more: bool) -> str:
    """In words; `more` where the text goes further back than anybody counted."""
    return f"{'at least ' if more else ''}{tokens} tokens left out" if tokens < NEVER else "far more than fits"


def _drop_repeated(fitting: Fitting) -> None:
    """A message that the conversation shows is not told a second time because it was found."""
    if not fitting.history:
        return
    found = [piece for piece in fitting.retrieved if piece.fragment.source.startswith("history:")]
    shown = {piece.fragment.source for piece in fitting.history}
    repeated = {id(piece) for piece in found if piece.fragment.source in shown}
    if repeated:
        again = [piece for piece in found if id(piece) in repeated]
        fitting.retrieved = [piece for piece in fitting.retrieved if id(piece) not in repeated]
        fitting.outcomes += [(one.fragment, Reason.DUPLICATE, one.tokens, one.fragment.source) for one in again]


class _History:
    """Messages of the conversation, oldest first; the oldest give way first.

    `reserved` is the room kept for them; where in it they begin is settled at the end.
    """

    __slots__ = ("_sums", "capped", "pieces", "reserved")

    def __init__(self, pieces: list[Piece], recipe: Recipe) -> None:
        self.pieces = pieces
        self._sums = [0]
        for piece in reversed(pieces):
            self._sums.append(self._sums[-1] + piece.tokens)
        self.capped = self._caps(recipe)
        self.reserved = 0

    def _caps(self, recipe: Recipe) -> int:
        """The oldest message that caps other than tokens let in."""
        first = 0
        if recipe.history_messages is not None:
            first = max(first, len(self.pieces) - recipe.history_messages)
        if recipe.history_characters is not None:
            characters = 0
            for at in range(len(self.pieces) - 1, -1, -1):
                characters += len(self.pieces[at].text)
                if characters > recipe.history_characters:
                    return max(first, at + 1)
        return first

    def cost(self, first: int) -> int:
        """What the messages from `first` on cost."""
        return self._sums[len(self.pieces) - first]

    def reach(self, room: int) -> int:
        """The oldest message from which all fit."""
        return max(len(self.pieces) - (bisect_right(self._sums, max(room, 0)) - 1), self.capped)

    def reserve(self, room: int) -> None:
        self.reserved = min(self.cost(self.capped), max(room, 0))

    def shed(self, over: int) -> int:
        given = min(max(over, 0), self.reserved)
        self.reserved -= given
        return given

    def step(self, room: int, given_up: float) -> int:
        """Where the window begins after a step: well inside the room, so that it need not move again soon."""
        spare = int((len(self.pieces) - self.capped) * given_up) if self.capped else 0
        first = max(self.reach(int(room * (1 - given_up))), self.capped + spare)
        best = self.reach(room)
        return first if first < len(self.pieces) or best == len(self.pieces) else len(self.pieces) - 1


def _settle_history(
    fitting: Fitting, history: _History, unasked: int, recipe: Recipe, before: Continuity, *, same_place: bool
) -> int:
    """Where the conversation begins; what it then costs beyond its reserve."""
    if not history.pieces:
        return 0
    room, cap = history.reserved + unasked, recipe.history_tokens
    by_cap = cap is not None and cap <= room
    if cap is not None:
        room = min(room, cap)
    start = before.history_start if same_place else None
    known = next((at for at, piece in enumerate(history.pieces) if piece.fragment.source == start), None)
    stepped = False
    if history.capped == 0 and history.cost(0) <= room:
        first = 0
    elif known is not None and known >= history.capped and history.cost(known) <= room:
        first = known
    else:
        first = history.step(room, recipe.history_step if before is not NOTHING else 0.0)
        stepped = start is not None
    fitting.stepped |= stepped
    fitting.history = history.pieces[first:]
    fitting.kept.append(fitting.history)
    best = history.reach(room)
    for at, piece in enumerate(history.pieces[:first]):
        beyond = Reason.HISTORY_CAP if by_cap or at < history.capped else Reason.NO_ROOM
        reason = Reason.WINDOW_STEP if at >= best else beyond
        fitting.outcomes.append((piece.fragment, reason, piece.tokens, ""))
    if first:
        fitting.truncated.add(Layer.IMMEDIATE)
    return max(history.cost(first) - history.reserved, 0)
