"""Shape: how things will look, resolved before anybody counts.

Every piece ends with its own line break, so the count of a message is the sum of the counts of its
pieces: wrappers, headings and numbering are part of the pieces, and nothing is added afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from msgspec import Struct, field

from fabula.context.trace import Outcome, Reason
from fabula.context.words import Words
from fabula.core.fragments import Fragment, Layer, Part
from fabula.text.models import Model
from fabula.text.tokens import Counts, Tokenizer
from fabula.text.windows import GAP, Stretch, stretch

_BLOCKS = 256  # rendered lists kept


class Piece(Struct, eq=False):
    """A fragment as it will stand in the prompt, and what that costs."""

    fragment: Fragment
    text: str
    tokens: int


class Unit(NamedTuple):
    """Text as it will stand, its line break included; `bare` is its cost at the end of a message."""

    text: str
    tokens: int
    bare: int | None = None


class Offer(Struct):
    """Everything that may enter, sorted by the part it plays."""

    constraints: list[Piece] = field(default_factory=list)
    rules: list[Piece] = field(default_factory=list)
    settings: list[Piece] = field(default_factory=list)
    retrieved: list[Piece] = field(default_factory=list)
    scene: list[Piece] = field(default_factory=list)
    window: Stretch | None = None
    mark: list[Piece] = field(default_factory=list)
    after: list[Piece] = field(default_factory=list)
    desk: list[Piece] = field(default_factory=list)
    history: list[Piece] = field(default_factory=list)
    closing: list[Piece] = field(default_factory=list)


class Shape:
    """Measures text for one tokenizer and one language; remembers what it measured."""

    __slots__ = ("_blocks", "_gapped", "headings", "model", "tokenizer", "words")

    def __init__(self, tokenizer: Tokenizer, words: Words, model: Model) -> None:
        self.tokenizer = tokenizer
        self.words = words
        self.model = model
        self._gapped = Counts()
        self._blocks: dict[tuple[str, tuple[str, ...]], Unit] = {}
        self.headings = {
            name: self.line(getattr(words, name)) for name in ("retrieved", "late", "window", "left_out", "after", "desk")
        }

    def piece(self, text: str) -> int:
        """What a text costs with the blank line behind it."""
        known = self._gapped.get(text)
        if known is None:
            known = self.tokenizer.count(text + GAP)
            self._gapped.put(text, known)
        return known

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


def shape(
    fragments: Iterable[Fragment], unrevealed: set[str], measure: Shape, excluded: frozenset[str]
) -> tuple[Offer, list[Outcome]]:
    """Sort fragments by the part they play; drop the empty, the excluded and the repeated."""
    offer = Offer()
    out: list[Outcome] = []
    best: dict[str, Piece] = {}
    mark = measure.words.not_yet
    piece_cost, count = measure.piece, measure.tokenizer.count
    for fragment in fragments:
        if excluded and (fragment.source in excluded or fragment.title in excluded):
            out.append((fragment, Reason.EXCLUDED, 0, ""))
            continue
        part = fragment.part
        if part is Part.WINDOW:
            _take_window(offer, stretch(fragment), measure, out)
            continue
        text = fragment.text.strip()
        if not text:
            out.append((fragment, Reason.EMPTY, 0, ""))
            continue
        if fragment.source in unrevealed:
            text = mark + text
        layer = fragment.layer
        if layer is Layer.RETRIEVED:
            piece = Piece(fragment, text, piece_cost(text))
            if fragment.placement is not None:
                piece.tokens += 2 * measure.model.per_message
            twin = best.get(text) or best.get(fragment.source)
            if twin is not None:
                _keep_better(offer.retrieved, best, twin, piece, out)
                continue
            best[text] = best[fragment.source] = piece
            offer.retrieved.append(piece)
        elif layer is Layer.RULES:
            if part is Part.CONSTRAINT:
                text = " ".join(text.split("\n"))
                offer.constraints.append(Piece(fragment, text, count(f"100. {text}\n")))
            else:
                offer.rules.append(Piece(fragment, text, piece_cost(text)))
        elif layer is Layer.SETTINGS:
            text = " ".join(text.split("\n"))
            own_place = fragment.placement is not None
            offer.settings.append(Piece(fragment, text, piece_cost(text) if own_place else count(f"- {text}\n")))
        elif part is Part.HISTORY:
            offer.history.append(Piece(fragment, text, count(text) + measure.model.per_message))
        else:
            _SEATS.get(part, _desk)(offer).append(Piece(fragment, text, piece_cost(text)))
    for name in ("constraints", "rules", "settings"):
        setattr(offer, name, _once(getattr(offer, name), out))
    return offer, out


def _desk(offer: Offer) -> list[Piece]:
    return offer.desk


_SEATS: dict[Part, Callable[[Offer], list[Piece]]] = {
    Part.SCENE: lambda offer: offer.scene,
    Part.MARK: lambda offer: offer.mark,
    Part.AFTER: lambda offer: offer.after,
    Part.CLOSING: lambda offer: offer.closing,
}


def _take_window(offer: Offer, found: Stretch, measure: Shape, out: list[Outcome]) -> None:
    if offer.window is not None:
        out.append((found, Reason.DUPLICATE, 0, offer.window.source))
    elif not found.since_start(found.begin):
        out.append((found, Reason.EMPTY, 0, ""))
    else:
        offer.window = found


def _keep_better(
    pieces: list[Piece], best: dict[str, Piece], twin: Piece, piece: Piece, out: list[Outcome]
) -> None:
    """The same fact enters once: the higher ranked of the two, in the place of the first."""
    if piece.fragment.score > twin.fragment.score:
        out.append((twin.fragment, Reason.DUPLICATE, twin.tokens, piece.fragment.source))
        pieces[pieces.index(twin)] = piece
        best[piece.text] = best[piece.fragment.source] = piece
        best[twin.text] = best[twin.fragment.source] = piece
    else:
        out.append((piece.fragment, Reason.DUPLICATE, piece.tokens, twin.fragment.source))


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
