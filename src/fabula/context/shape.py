"""Shape: how things will look, resolved before anybody counts.

Every piece ends with its own line break, so the count of a message is the sum of the counts of its
pieces: wrappers, headings and numbering are part of the pieces, and nothing is added afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct, field

from fabula.context.budget import Budget
from fabula.context.trace import Outcome, Reason
from fabula.context.words import Words
from fabula.core.fragments import Fragment, Layer, Part
from fabula.text.models import Model
from fabula.text.tokens import Counts, Tokenizer
from fabula.text.windows import GAP, Stretch, stretch

_BLOCKS = 256  # rendered lists kept
_SHAPED = 10_000  # shaped fragments kept


class Unit(NamedTuple):
    """Text as it will stand, its line break included; `bare` is its cost at the end of a message."""

    text: str
    tokens: int
    bare: int | None = None


class Piece(Struct, eq=False, gc=False):
    """A fragment as it will stand in the prompt, and what having it there costs.

    `unit` is the same as text to be laid out; pieces that become lines of a list have none.
    """

    fragment: Fragment
    text: str
    tokens: int
    seat: str = ""
    unit: Unit = Unit("", 0)


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


class Shape:
    """Measures text for one tokenizer and one language; remembers what it measured."""

    __slots__ = (
        "_blocks",
        "_bundles",
        "_gapped",
        "_units",
        "budgets",
        "headings",
        "model",
        "prefixes",
        "shaped",
        "tokenizer",
        "words",
    )

    def __init__(self, tokenizer: Tokenizer, words: Words, model: Model) -> None:
        self.tokenizer = tokenizer
        self.words = words
        self.model = model
        self.shaped: dict[int, Piece] = {}
        self._bundles: dict[int, tuple[tuple[Fragment, ...], Bundle | None]] = {}
        self.budgets: dict[object, Budget] = {}
        self.prefixes: dict[tuple[str | int, ...], tuple[tuple[Unit, ...], str, str]] = {}
        self._gapped = Counts()
        self._units: dict[str, Unit] = {}
        self._blocks: dict[tuple[str, tuple[str, ...]], Unit] = {}
        self.headings = {name: Unit(text + "\n", self.line(text)) for name, text in _headings(words)}

    def piece(self, text: str) -> int:
        """What a text costs with the blank line behind it."""
        known = self._gapped.young.get(text)
        return known if known is not None else self._gapped.find(text, self._gap)

    def _gap(self, text: str) -> int:
        return self.tokenizer.count(text + GAP)

    def unit(self, text: str) -> Unit:
        """A text with the blank line behind it."""
        return Unit(text + GAP, self.piece(text))

    def kept_unit(self, text: str) -> Unit:
        """The same for a text that comes again and again: an identity, a preset's message."""
        known = self._units.get(text)
        if known is None:
            if len(self._units) >= _BLOCKS:
                self._units.clear()
            known = self._units[text] = self.unit(text)
        return known

    def piece_of(self, fragment: Fragment, *, marked: bool) -> Piece:
        """A fragment in its shape. Fragments are immutable, so this is remembered by identity."""
        text, seat, count = fragment.text.strip(), _seat(fragment), self.tokenizer.count
        if not text:
            return Piece(fragment, "", 0)
        if marked:
            mark = self.words.not_yet
            text = mark + text.replace(GAP, GAP + mark)
        if seat in ("constraints", "settings"):
            text = " ".join(text.split("\n"))
        own_place = fragment.placement is not None
        if seat == "constraints":
            piece = Piece(fragment, text, count(f"100. {text}\n"), seat)
        elif seat == "settings" and not own_place:
            piece = Piece(fragment, text, count(f"- {text}\n"), seat)
        elif seat == "history":
            bare = count(text)
            piece = Piece(fragment, text, bare + self.model.per_message, seat, Unit(text + GAP, self.piece(text), bare))
        else:
            unit = self.unit(text)
            around = 2 * self.model.per_message if own_place else 0  # it may split a message in two
            piece = Piece(fragment, text, unit.tokens + around, seat, unit)
        if not marked:
            if len(self.shaped) >= _SHAPED:
                self.shaped.clear()
            self.shaped[id(fragment)] = piece  # the piece holds the fragment, so its id stays taken
        return piece

    def bundle(self, group: tuple[Fragment, ...]) -> Bundle | None:
        """A group shaped once, if no request can change what becomes of it: rules and settings that always hold."""
        known = self._bundles.get(id(group))
        if known is None or known[0] is not group:
            if len(self._bundles) >= _BLOCKS:
                self._bundles.clear()
            known = self._bundles[id(group)] = (group, _bundle(group, self))
        return known[1]

    def line(self, text: str) -> int:
        """What a text costs as a line of its own."""
        return self.tokenizer.count(text + "\n")

    def numbered(self, heading: str, texts: tuple[str, ...]) -> Unit:
        """A heading with numbered lines."""
        return self._block(heading, texts, lambda n, text: f"{n}. {text}")

    def bulleted(self, heading: str, texts: tuple[str, ...]) -> Unit:
        """A heading with a line an item."""
        return self._block(heading, texts, lambda n, text: f"- {text}")

    def _block(self, heading: str, texts: tuple[str, ...], item: Callable[[int, str], str]) -> Unit:
        key = (heading, texts)
        block = self._blocks.get(key)
        if block is None:
            lines = [heading, *(item(n, text) for n, text in enumerate(texts, start=1))]
            count = self.tokenizer.count
            upper = sum(count(line + "\n") for line in lines[:-1])
            text, last = "\n".join(lines) + GAP, lines[-1]
            block = Unit(text, upper + count(last + GAP), upper + count(last))
            if len(self._blocks) >= _BLOCKS:
                self._blocks.clear()
            self._blocks[key] = block
        return block


class Bundle(Struct, frozen=True):
    """A snapshot's group of fragments that nothing about a request can change, shaped once."""

    project_id: str
    seats: tuple[tuple[str, list[Piece]], ...]
    repeated: list[Outcome]


def shape(
    groups: Iterable[Sequence[Fragment]],
    project_id: str,
    passes: Callable[[Sequence[Fragment]], tuple[list[Fragment], list[Outcome], set[int]]],
    measure: Shape,
    excluded: frozenset[str],
) -> tuple[Offer, list[Outcome], set[int]]:
    """Pass groups through the gate and sort what comes through by the part it plays.

    What is empty, excluded or said twice is dropped here.
    """
    offer = Offer()
    seats = dict(zip(_SEATS, offer.lists(), strict=True))
    out: list[Outcome] = []
    unrevealed: set[int] = set()
    mixed: set[str] = set()  # lists that more than one group went into
    for group in groups:
        bundle = measure.bundle(group) if type(group) is tuple and not excluded else None
        if bundle is not None and bundle.project_id == project_id:
            for seat, pieces in bundle.seats:
                if seats[seat]:
                    mixed.add(seat)
                seats[seat].extend(pieces)
            out += bundle.repeated
            continue
        passed, stopped, marked = passes(group)
        out += stopped
        mixed.update(_sort(passed, marked, measure, excluded, offer, seats, out))
        unrevealed |= marked
    for name in _ONCE:
        if name in mixed:
            setattr(offer, name, _once(seats[name], out))
    offer.retrieved = _each_fact_once(offer.retrieved, out)
    if offer.rules and offer.constraints:
        _without_repeats(offer, out)
    return offer, out, unrevealed


def _without_repeats(offer: Offer, out: list[Outcome]) -> None:
    """A project rule that says what a constraint says already stands once, as the constraint."""
    rules = {piece.text for piece in offer.rules}
    if rules.isdisjoint([piece.text for piece in offer.constraints]):
        return
    said = {piece.text: piece for piece in offer.constraints}
    repeated = [piece for piece in offer.rules if piece.text in said]
    out += [(p.fragment, Reason.DUPLICATE, p.tokens, said[p.text].fragment.source) for p in repeated]
    offer.rules = [piece for piece in offer.rules if piece.text not in said]


def _sort(
    fragments: Sequence[Fragment],
    unrevealed: set[int],
    measure: Shape,
    excluded: frozenset[str],
    offer: Offer,
    seats: dict[str, list[Piece]],
    out: list[Outcome],
) -> set[str]:
    shaped, touched = measure.shaped, set()
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
        touched.add(piece.seat)
        seats[piece.seat].append(piece)
    return touched


def names_of(fragment: Fragment) -> tuple[str, str, str, str]:
    """All that a person may call it by: its source, the thing that belongs to, its id, its title."""
    owner = fragment.source.partition("#")[0]
    return fragment.source, owner, owner.rpartition(":")[2], fragment.title


def _bundle(group: tuple[Fragment, ...], measure: Shape) -> Bundle | None:
    if len({fragment.project_id for fragment in group}) != 1:
        return None
    seats: dict[str, list[Piece]] = {}
    for fragment in group:
        tied = fragment.since or fragment.until or fragment.known_to is not None or fragment.derived_from
        if tied or _seat(fragment) not in _ONCE or not fragment.text.strip():
            return None
        piece = measure.piece_of(fragment, marked=False)
        seats.setdefault(piece.seat, []).append(piece)
    out: list[Outcome] = []
    rows = tuple((seat, _once(pieces, out)) for seat, pieces in seats.items())
    return Bundle(group[0].project_id, rows, out)


def _headings(words: Words) -> Iterator[tuple[str, str]]:
    for name in ("rules", "retrieved", "late", "window", "left_out", "after", "desk"):
        yield name, getattr(words, name)


def _seat(fragment: Fragment) -> str:
    if fragment.layer is Layer.RULES:
        return "constraints" if fragment.part is Part.CONSTRAINT else "rules"
    if fragment.layer is Layer.IMMEDIATE:
        return _PARTS.get(fragment.part, "desk")
    return fragment.layer.value


_WINDOW = Part.WINDOW
_ONCE = ("constraints", "rules", "settings")
_SEATS = ("constraints", "rules", "settings", "retrieved", "scene", "mark", "after", "desk", "history", "closing")
_PARTS = {
    Part.SCENE: "scene",
    Part.MARK: "mark",
    Part.AFTER: "after",
    Part.CLOSING: "closing",
    Part.HISTORY: "history",
}


def _take_window(offer: Offer, found: Stretch, measure: Shape, out: list[Outcome]) -> None:
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
    stays: set[int] = set()
    for piece in sorted(pieces, key=lambda piece: -piece.fragment.score):
        twin = texts.get(piece.text) or sources.get(piece.fragment.source)
        if twin is None:
            texts[piece.text] = sources[piece.fragment.source] = piece
            stays.add(id(piece))
        else:
            out.append((piece.fragment, Reason.DUPLICATE, piece.tokens, twin.fragment.source))
    return [piece for piece in pieces if id(piece) in stays]


def _once(pieces: list[Piece], out: list[Outcome]) -> list[Piece]:
    """The same rule or preference enters once, in its strongest form."""
    seen: dict[str, Piece] = {}
    for piece in pieces:
        twin = seen.setdefault(piece.text, piece)
        if twin is not piece:
            if piece.fragment.tier > twin.fragment.tier:
                seen[piece.text], piece, twin = piece, twin, piece
            out.append((piece.fragment, Reason.DUPLICATE, piece.tokens, twin.fragment.source))
    return pieces if len(seen) == len(pieces) else list(seen.values())
