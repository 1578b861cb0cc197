"""Measure: how a piece of text will look, and what it costs, for one tokenizer and one language.

Every piece ends with its own line break, so the count of a message is the sum of the counts of its
pieces: wrappers, headings and numbering are part of the pieces, and nothing is added afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from fabula.context.budget import Budget
from fabula.context.phrases import Words
from fabula.core.fragment import Fragment, Layer, Part
from fabula.text.bounded_cache import Generations
from fabula.text.tokens.models import Model
from fabula.text.tokens.tokenizer import Tokenizer
from fabula.text.windows import GAP

if TYPE_CHECKING:
    from fabula.context.gate_cache import Known
    from fabula.context.render import Joined
    from fabula.context.static_fragments import Standing

_BLOCKS = 256  # rendered lists kept
SHAPED = 2_000_000  # characters of shaped fragments kept in a generation


class Unit(Struct, frozen=True, eq=False, gc=False):
    """Text as it will stand, its line break included.

    `bare` is its cost at the end of a message, where that is known; its last paragraph begins at `tail`.
    """

    text: str
    tokens: int
    bare: int | None = None
    tail: int = 0


class Piece(Struct, eq=False, gc=False):
    """A fragment as it will stand in the prompt, and what having it there costs.

    `unit` is the same as text to be laid out; pieces that become lines of a list have none. `free` is the project in
    which nothing can be held against it, wherever the story is.
    """

    fragment: Fragment
    text: str
    tokens: int
    seat: str = ""
    unit: Unit = Unit("", 0)
    free: str = ""


class Measure:
    """Measures text for one tokenizer and one language; remembers what it measured."""

    __slots__ = (
        "_blocks",
        "_units",
        "budgets",
        "groups",
        "headings",
        "messages",
        "model",
        "settings_line",
        "shaped",
        "standings",
        "tokenizer",
        "words",
    )

    def __init__(self, tokenizer: Tokenizer, words: Words, model: Model) -> None:
        self.tokenizer = tokenizer
        self.words = words
        self.model = model
        self.shaped = Generations[int, Piece](SHAPED)
        self.groups: dict[int, Known] = {}
        self.standings: dict[tuple[int, ...], Standing] = {}
        self.budgets: dict[object, Budget] = {}
        self.messages: dict[tuple[int, ...], Joined] = {}
        self._units: dict[str, Unit] = {}
        self._blocks: dict[tuple[str, tuple[str, ...]], Unit] = {}
        self.settings_line = self.piece(words.settings) + 1  # what a list of settings costs beside its items
        self.headings = {name: Unit(text + "\n", self.line(text)) for name, text in _headings(words)}

    def piece(self, text: str) -> int:
        """What a text costs with the blank line behind it."""
        return self.tokenizer.count(text + GAP)

    def unit(self, text: str) -> Unit:
        """A text with the blank line behind it."""
        whole = text + GAP
        return Unit(whole, self.tokenizer.count(whole))

    def bare(self, unit: Unit) -> int:
        """What a unit costs at the end of a message."""
        if unit.bare is not None:
            return unit.bare
        tail, count = unit.text[unit.tail :], self.tokenizer.count
        return count(tail.rstrip("\n")) + (unit.tokens - count(tail) if unit.tail else 0)

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
        known = None if marked else self.shaped.older(id(fragment))
        if known is not None and known.fragment is fragment:
            self._keep(known)
            return known
        text, seat, count = fragment.text.strip(), seat_of(fragment), self.tokenizer.count
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
        elif seat == "closing":
            unit = Unit(text + GAP, self.piece(text), count(text))
            piece = Piece(fragment, text, unit.tokens, seat, unit)
        else:
            unit = self.unit(text)
            around = 2 * self.model.per_message if own_place else 0  # it may split a message in two
            piece = Piece(fragment, text, unit.tokens + around, seat, unit)
        if not marked:
            piece.free = fragment.project_id if fragment.open else ""
            self._keep(piece)
        return piece

    def _keep(self, piece: Piece) -> None:
        """Remember a shape, unless it cannot come again: what follows the cursor is cut anew each time."""
        if piece.fragment.part is not Part.AFTER:
            self.shaped.keep(id(piece.fragment), piece, len(piece.text))  # it holds the fragment: its id stays taken

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


def _headings(words: Words) -> Iterator[tuple[str, str]]:
    for name in ("rules", "retrieved", "late", "window", "left_out", "after", "desk"):
        yield name, getattr(words, name)


def seat_of(fragment: Fragment) -> str:
    """The list a fragment goes into, by its layer and the part it plays there."""
    if fragment.layer is Layer.RULES:
        return "constraints" if fragment.part is Part.CONSTRAINT else "rules"
    if fragment.layer is Layer.IMMEDIATE:
        return _PARTS.get(fragment.part, "desk")
    return fragment.layer.value


_PARTS = {
    Part.SCENE: "scene",
    Part.MARK: "mark",
    Part.AFTER: "after",
    Part.CLOSING: "closing",
    Part.HISTORY: "history",
}
