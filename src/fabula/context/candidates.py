"""Shape: everything that may enter, measured and sorted by the part it plays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from fabula.context.gate import Gate
from fabula.context.gate_cache import SEATS, Group, Known, Sifted, look_through
from fabula.context.measure import Measure, Piece
from fabula.context.static_fragments import Standing, once, standing, without_repeats
from fabula.context.trace import Outcome, Reason
from fabula.core.fragment import Fragment, Part
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
    sieve = _Sieve(gate, measure, excluded)
    offer, out = sieve.offer, sieve.out
    seats = dict(zip(_SEATS, offer.lists(), strict=True))
    firm: list[Group] = []
    for group in groups:
        if type(group) is not tuple or excluded:
            pieces = sieve.pieces(group)
        else:
            known = look_through(group, gate.project_id, measure.groups)
            if known.firm:
                firm.append(group)
                continue
            pieces = sieve.kept_pieces(group, known)
        for piece in pieces:
            seats[piece.seat].append(piece)
    if firm:
        _join(offer, standing(firm, measure), out)
    else:
        _tidy(offer, out)
    offer.retrieved = _each_fact_once(offer.retrieved, out)
    return offer, out, sieve.unrevealed


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


class _Sieve:
    """Lets fragments through the gate, in their shape. A window among them becomes the offer's."""

    __slots__ = ("_excluded", "_gate", "_measure", "offer", "out", "unrevealed")

    def __init__(self, gate: Gate, measure: Measure, excluded: frozenset[str]) -> None:
        self._gate = gate
        self._measure = measure
        self._excluded = excluded
        self.offer = Offer()
        self.out: list[Outcome] = []
        self.unrevealed: set[int] = set()  # what passes though the story has not come to it, by identity

    def pieces(self, group: Iterable[Fragment]) -> list[Piece]:
        """What comes through of a group."""
        shaped, project = self._measure.shaped.young, None if self._excluded else self._gate.project_id
        pieces: list[Piece] = []
        for fragment in group:
            piece = shaped.get(id(fragment))
            if piece is None or piece.fragment is not fragment:
                piece = self._piece(fragment, None)
            elif piece.free != project:
                piece = self._piece(fragment, piece)
            if piece is not None:
                pieces.append(piece)
        return pieces

    def kept_pieces(self, group: Group, known: Known) -> list[Piece]:
        """The same for a group of a snapshot, found again where it was sifted at this place of the story."""
        gate, out = self._gate, self.out
        sifted = known.here(gate.vantage, gate.timeline)
        if sifted is None:
            begin, others, self.unrevealed = len(out), self.unrevealed, set()
            pieces = self.pieces(group)
            stopped = out[begin:]
            # What becomes of a window depends on whether there is another.
            lasting = not self.unrevealed and not any(outcome[0].part is Part.WINDOW for outcome in stopped)
            if lasting and len(pieces) + len(stopped) == len(group):
                known.keep(gate.vantage, Sifted(gate.timeline, pieces, stopped))
            self.unrevealed |= others
            return pieces
        out += sifted.stopped
        return sifted.pieces

    def _piece(self, fragment: Fragment, known: Piece | None) -> Piece | None:
        """One fragment in its shape, if it comes through. `known` is its shape where nothing need be marked."""
        reason = self._gate.word(fragment)
        marked = reason is Reason.NOT_REVEALED
        if marked:
            self.unrevealed.add(id(fragment))
        elif reason is not None:
            return self._stop(fragment, reason)
        if self._excluded and not self._excluded.isdisjoint(names_of(fragment)):
            return self._stop(fragment, Reason.EXCLUDED)
        if fragment.part is Part.WINDOW:
            window = stretch(fragment)
            if marked:
                self.unrevealed.add(id(window))
            _take_window(self.offer, window, self._measure, self.out)
            return None
        piece = known if known is not None and not marked else self._measure.piece_of(fragment, marked=marked)
        return piece if piece.text else self._stop(fragment, Reason.EMPTY)

    def _stop(self, fragment: Fragment, reason: Reason) -> Piece | None:
        self.out.append((fragment, reason, 0, ""))
        return None


def names_of(fragment: Fragment) -> tuple[str, str, str, str]:
    """All that a person may call it by: its source, the thing that belongs to, its id, its title."""
    owner = fragment.source.partition("#")[0]
    return fragment.source, owner, owner.rpartition(":")[2], fragment.title


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
    if len({piece.text for piece in pieces}) == len({piece.fragment.source for piece in pieces}) == len(pieces):
        return pieces
    texts: dict[str, Piece] = {}
    sources: dict[str, Piece] = {}
    stays: set[int] = set()  # by place: one fragment may have been offered twice
    for at, piece in sorted(enumerate(pieces), key=lambda placed: -placed[1].fragment.score):
        twin = texts.get(piece.text) or sources.get(piece.fragment.source)
        if twin is None:
            texts[piece.text] = sources[piece.fragment.source] = piece
            stays.add(at)
        else:
            out.append((piece.fragment, Reason.DUPLICATE, piece.tokens, twin.fragment.source))
    return [piece for at, piece in enumerate(pieces) if at in stays]
