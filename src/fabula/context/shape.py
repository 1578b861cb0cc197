"""Shape: everything that may enter, measured and sorted by the part it plays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter

from msgspec import Struct, field

from fabula.context.gate import Gate
from fabula.context.groups import SEATS, Group, Known, Sifted, look_through
from fabula.context.measure import Measure, Piece
from fabula.context.standing import Standing, once, standing, without_repeats
from fabula.context.trace import Outcome, Reason
from fabula.core.fragments import Fragment, Part
from fabula.text.windows import Stretch, stretch


class Offer(Struct):
    """Everything that may enter, sorted by the part it plays."""

    constraints: list[Piece] = field(default_factory=list)
    rules: list[Piece] = field(default_factory=list)
    settings: list[Piece] = field(default_factory=list)
    retrieved: list[Piece] = field(default_factory=list)
    scene: list[Piece] = field(default_factory=list)
    window: Stretch | None = None
    window_tokens: int = 0
    mark: list[Piece] = field(default_factory=list)
    after: list[Piece] = field(default_factory=list)
    desk: list[Piece] = field(default_factory=list)
    history: list[Piece] = field(default_factory=list)
    closing: list[Piece] = field(default_factory=list)
    standing: Standing | None = None  # set where rules and settings are just what always stands

    def lists(self) -> tuple[list[Piece], ...]:
        """Everything but the window."""
        return (
            self.constraints,
            self.rules,
            self.settings,
            self.retrieved,
            self.scene,
            self.mark,
            self.after,
            self.desk,
            self.history,
            self.closing,
        )

    def tokens(self) -> int:
        """What everything but the window would cost."""
        lists, known = self.lists(), 0
        if self.standing is not None:
            lists, known = lists[len(SEATS) :], self.standing.tokens
        return known + sum([piece.tokens for pieces in lists for piece in pieces])


def shape(
    groups: Iterable[Sequence[Fragment]], gate: Gate, measure: Measure, excluded: frozenset[str]
) -> tuple[Offer, list[Outcome], set[int]]:
    """Pass groups through the gate and sort what comes through by the part it plays.

    What is empty, excluded or said twice is dropped here.
    """
    offer = Offer()
    seats = dict(zip(_SEATS, offer.lists(), strict=True))
    out: list[Outcome] = []
    unrevealed: set[int] = set()
    firm: list[Group] = []
    for group in groups:
        known: Known | None = None
        if type(group) is tuple and not excluded:
            known = look_through(group, gate.project_id, measure.groups)
            if known.firm:
                firm.append(group)
                continue
            sifted = known.here(gate.vantage, gate.timeline)
            if sifted is not None:
                for piece in sifted.pieces:
                    seats[piece.seat].append(piece)
                out += sifted.stopped
                continue
        passed, stopped, marked = gate.passes(group)
        pieces = _shaped(passed, marked, measure, excluded, offer, stopped)
        for piece in pieces:
            seats[piece.seat].append(piece)
        out += stopped
        unrevealed |= marked
        if known is not None and not marked and len(pieces) + len(stopped) == len(group):
            known.keep(gate.vantage, Sifted(gate.timeline, pieces, stopped))
    if firm:
        _join(offer, standing(firm, measure), out)
    else:
        _tidy(offer, out)
    offer.retrieved = _each_fact_once(offer.retrieved, out)
    return offer, out, unrevealed


def _join(offer: Offer, firm: Standing, out: list[Outcome]) -> None:
    """What always stands comes first; what this request brought along follows."""
    out += firm.repeated
    if offer.constraints or offer.rules or offer.settings:
        offer.constraints = [*firm.constraints, *offer.constraints]
        offer.rules = [*firm.rules, *offer.rules]
        offer.settings = [*firm.settings, *offer.settings]
        _tidy(offer, out)
    else:
        offer.constraints, offer.rules, offer.settings = firm.constraints, firm.rules, firm.settings
        offer.standing = firm


def _tidy(offer: Offer, out: list[Outcome]) -> None:
    offer.constraints, offer.rules = once(offer.constraints, out), once(offer.rules, out)
    offer.settings = once(offer.settings, out)
    offer.rules = without_repeats(offer.rules, offer.constraints, out)


def _shaped(
    fragments: Sequence[Fragment],
    unrevealed: set[int],
    measure: Measure,
    excluded: frozenset[str],
    offer: Offer,
    out: list[Outcome],
) -> list[Piece]:
    """Fragments as they will look; a window among them becomes the offer's."""
    shaped = measure.shaped
    pieces: list[Piece] = []
    for fragment in fragments:
        if excluded and not excluded.isdisjoint(names_of(fragment)):
            out.append((fragment, Reason.EXCLUDED, 0, ""))
            continue
        if fragment.part is _WINDOW:
            window = stretch(fragment)
            if id(fragment) in unrevealed:
                unrevealed.add(id(window))
            _take_window(offer, window, measure, out)
            continue
        piece = shaped.get(id(fragment))
        if piece is None or piece.fragment is not fragment or unrevealed:
            piece = measure.piece_of(fragment, marked=id(fragment) in unrevealed)
            if not piece.text:
                out.append((fragment, Reason.EMPTY, 0, ""))
                continue
        pieces.append(piece)
    return pieces


def names_of(fragment: Fragment) -> tuple[str, str, str, str]:
    """All that a person may call it by: its source, the thing that belongs to, its id, its title."""
    owner = fragment.source.partition("#")[0]
    return fragment.source, owner, owner.rpartition(":")[2], fragment.title


_WINDOW = Part.WINDOW
_TEXT, _SOURCE = attrgetter("text"), attrgetter("fragment.source")
_SEATS = ("constraints", "rules", "settings", "retrieved", "scene", "mark", "after", "desk", "history", "closing")


def _take_window(offer: Offer, found: Stretch, measure: Measure, out: list[Outcome]) -> None:
    if offer.window is not None:
        out.append((found, Reason.DUPLICATE, 0, offer.window.source))
    elif found.empty:
        out.append((found, Reason.EMPTY, 0, ""))
    else:
        offer.window = found
        offer.window_tokens = found.cost(measure.tokenizer, found.begin)


def _each_fact_once(pieces: list[Piece], out: list[Outcome]) -> list[Piece]:
    """The same fact enters once: of two with one text or one source the higher ranked, in its own place."""
    if len(set(map(_TEXT, pieces))) == len(set(map(_SOURCE, pieces))) == len(pieces):
        return pieces
    texts: dict[str, Piece] = {}
    sources: dict[str, Piece] = {}
    stays: set[int] = set()
    for piece in sorted(pieces, key=lambda piece: -piece.fragment.score):
        twin = texts.get(piece.text) or sources.get(piece.fragment.source)
        if twin is None:
            texts[piece.text] = sources[piece.fragment.source] = piece
            stays.add(id(piece))
        else:
            out.append((piece.fragment, Reason.DUPLICATE, piece.tokens, twin.fragment.source))
    return [piece for piece in pieces if id(piece) in stays]
