"""Is there a match? Answered for all places of a text at once.

A set of places is one large integer, a bit a place. A character class moves the set one to the
right where it matches, a choice unites, a repetition grows the set until it no longer changes.
Nothing is ever tried again, so there is no pattern that runs away: `(a+)+$` costs what `a+$` costs.
What remains is bounded by counting the work. No groups are captured: only *whether* matters here.
"""

from __future__ import annotations

from functools import lru_cache
from unicodedata import category

from fabula.lorebook.pattern import WORD, Chain, Chars, Choice, Edge, Look, Node, PatternError, Repeat, parse

WORK = 8_000_000  # words of memory touched: a tenth of a second or so, for all patterns of a scan together


class TooMuchWorkError(Exception):
    """A pattern was given up on: the text is too long for it."""


class Allowance:
    """The work that may still be done; no pattern gets more than a quarter of it."""

    __slots__ = ("left",)

    def __init__(self, work: int = WORK) -> None:
        self.left = work


class Pattern:
    """A JavaScript pattern, ready to be looked for."""

    __slots__ = ("_flags", "_root")

    def __init__(self, source: str, flags: str) -> None:
        self._flags = frozenset(flags)
        self._root = parse(source if "u" in flags else _units(source), flags)

    def found_in(self, text: str, allowance: Allowance) -> bool:
        """Whether it matches anywhere; raises TooMuchWorkError rather than take long."""
        run = _Run(text if "u" in self._flags else _units(text), self._flags, allowance.left // 4)
        try:
            return bool(run.forward(self._root, 1 if "y" in self._flags else run.all))
        finally:
            allowance.left -= run.work


@lru_cache(maxsize=4096)
def pattern(source: str, flags: str) -> Pattern | str:
    """The pattern, or in words why it is none."""
    try:
        return Pattern(source, flags)
    except PatternError as error:
        return str(error)


class _Run:
    def __init__(self, text: str, flags: frozenset[str], most: int) -> None:
        self.text, self.size = text, len(text)
        self.letters = sorted(set(text))
        self.all = (1 << (self.size + 1)) - 1
        self.ignore, self.lines, self.unicode = "i" in flags, "m" in flags, "u" in flags
        self.masks: dict[Chars | Edge | Look, int] = {}
        self.work, self.most = 0, most

    def spend(self, passes: int = 1) -> None:
        self.work += passes * (self.size // 64 + 16)
        if self.work > self.most:
            raise TooMuchWorkError

    def forward(self, node: Node, places: int) -> int:
        """Where matches end that begin at one of these places."""
        if not places:
            return 0
        self.spend()
        match node:
            case Chars():
                return (places & self.mask(node)) << 1
            case Chain(parts):
                for part in parts:
                    places = self.forward(part, places)
                return places
            case Choice(parts):
                ends = 0
                for part in parts:
                    ends |= self.forward(part, places)
                return ends
            case Repeat(Chars() as one, least, None) if least <= 1:
                mask = self.mask(one)
                if least:
                    places = (places & mask) << 1
                return (((places & mask) + mask) ^ mask) | places  # the carry runs through each stretch
            case Repeat():
                return self.repeat(node, places, ahead=True)
            case Look() | Edge():
                return places & self.mask(node)

    def backward(self, node: Node, places: int) -> int:
        """Where matches begin that end at one of these places."""
        if not places:
            return 0
        self.spend()
        match node:
            case Chars():
                return (places >> 1) & self.mask(node)
            case Chain(parts):
                for part in reversed(parts):
                    places = self.backward(part, places)
                return places
            case Choice(parts):
                starts = 0
                for part in parts:
                    starts |= self.backward(part, places)
                return starts
            case Repeat():
                return self.repeat(node, places, ahead=False)
            case Look() | Edge():
                return places & self.mask(node)

    def repeat(self, node: Repeat, places: int, *, ahead: bool) -> int:
        step = self.forward if ahead else self.backward
        for _ in range(node.least):
            moved = step(node.part, places)
            if moved == places:  # it stands still: once more changes nothing
                break
            places = moved
            if not places:
                return 0
        reached, fresh, count = places, places, node.least
        while fresh and (node.most is None or count < node.most):
            fresh = step(node.part, fresh) & ~reached
            reached |= fresh
            count += 1
        return reached

    def mask(self, node: Chars | Edge | Look) -> int:
        """The places where a character, an edge or a look around holds."""
        known = self.masks.get(node)
        if known is None:
            self.spend(8)
            match node:
                case Chars():
                    known = self.where(node)
                case Look():
                    known = self.backward(node.part, self.all) if node.ahead else self.forward(node.part, self.all)
                    known = self.all & ~known if node.negated else known
                case Edge():
                    known = self.edge(node.kind)
            self.masks[node] = known
        return known

    def where(self, chars: Chars) -> int:
        if not self.size:
            return 0
        table = {ord(letter): "1" if self.holds(chars, letter) else "0" for letter in self.letters}
        return int(self.text.translate(table)[::-1], 2)

    def edge(self, kind: str) -> int:
        if kind in "^$":
            outer = 1 if kind == "^" else 1 << self.size
            if not self.lines:
                return outer
            breaks = self.where(Chars(((10, 10), (13, 13), (0x2028, 0x2029))))
            return outer | (breaks << 1 if kind == "^" else breaks)
        word = self.where(Chars(WORD))
        borders = word ^ (word << 1)
        return borders if kind == "b" else self.all & ~borders

    def holds(self, chars: Chars, letter: str) -> bool:
        forms = self.forms(letter) if self.ignore else (letter,)
        inside = any(low <= ord(form) <= high for form in forms for low, high in chars.ranges)
        if not inside and chars.categories:
            inside = any(
                category(form).startswith(name) is not negated for form in forms for name, negated in chars.categories
            )
        if not inside and self.ignore:
            folded = _folded(letter, self.unicode)
            inside = any(low == high and _folded(chr(low), self.unicode) == folded for low, high in chars.ranges)
        return inside is not chars.negated

    def forms(self, letter: str) -> tuple[str, ...]:
        folded = _folded(letter, self.unicode)
        near = {letter, letter.upper(), letter.lower(), letter.upper().lower(), folded}
        return tuple(form for form in near if len(form) == 1 and _folded(form, self.unicode) == folded)


def _folded(letter: str, unicode: bool) -> str:
    """JavaScript's idea of the same letter in another case."""
    other = letter.casefold() if unicode else letter.upper()
    if len(other) != 1 or (not unicode and not letter.isascii() and other.isascii()):
        return letter
    return other


def _units(text: str) -> str:
    """A text as JavaScript sees it without the `u` flag: in units of 16 bits."""
    if text.isascii() or max(text) <= "\uffff":
        return text
    return "".join(
        letter
        if letter <= "\uffff"
        else chr(0xD800 + ((ord(letter) - 0x10000) >> 10)) + chr(0xDC00 + ((ord(letter) - 0x10000) & 0x3FF))
        for letter in text
    )
