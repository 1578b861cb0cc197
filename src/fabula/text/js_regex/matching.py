"""Is there a match? Answered for all places of a text at once.

A set of places is one large integer, a bit a place. A character class moves the set one to the
right where it matches, a choice unites, a repetition grows the set until it no longer changes.
Nothing is ever tried again, so there is no pattern that runs away: `(a+)+$` costs what `a+$` costs.
What remains is bounded by counting the work, not the time, so that the same text gives the same answer
on every machine. No groups are captured: only *whether* matters here.
"""

from __future__ import annotations

from functools import lru_cache

from fabula.text.js_regex.character_bits import Marks, Searched
from fabula.text.js_regex.parser import PatternError, parse
from fabula.text.js_regex.syntax_tree import NEWLINE, WORD, Chain, Chars, Choice, Edge, Look, Node, Repeat

WORK = 60_000_000  # bytes touched and steps taken: a quarter of a second or so, for all patterns of a scan together
_STEP, _LOOKED_UP = 150, 6_000  # what a step, and looking up the places of a class, cost at least


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

    def found_in(self, text: Searched, allowance: Allowance) -> bool:
        """Whether it matches anywhere; raises TooMuchWorkError rather than take long."""
        if allowance.left <= 0:
            raise TooMuchWorkError
        run = _Run(text.points if "u" in self._flags else text.units, self._flags, allowance.left // 4)
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
    def __init__(self, marks: Marks, flags: frozenset[str], most: int) -> None:
        self.marks, self.size = marks, marks.size
        self.all = (1 << (self.size + 1)) - 1
        self.ignore, self.lines = "i" in flags, "m" in flags
        self.masks: dict[Edge | Look, int] = {}
        self.work, self.most = _LOOKED_UP + self.size // 8, most

    def spend(self, work: int) -> None:
        self.work += work
        if self.work > self.most:
            raise TooMuchWorkError

    def forward(self, node: Node, places: int) -> int:
        """Where matches end that begin at one of these places."""
        if not places:
            return 0
        self.spend(_STEP + self.size // 8)
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
        self.spend(_STEP + self.size // 8)
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
        if isinstance(node, Chars):
            return self.where(node)
        known = self.masks.get(node)
        if known is None:
            if isinstance(node, Edge):
                known = self.edge(node.kind)
            else:
                known = self.backward(node.part, self.all) if node.ahead else self.forward(node.part, self.all)
                known = self.all & ~known if node.negated else known
            self.masks[node] = known
        return known

    def where(self, chars: Chars) -> int:
        if not self.marks.knows(chars, self.ignore):
            asked = len(chars.ranges) + 300 * len(chars.properties) + 300 * self.ignore
            self.spend(_LOOKED_UP + 4 * self.size + asked * self.marks.variety)
        return self.marks.where(chars, self.ignore)

    def edge(self, kind: str) -> int:
        if kind in "^$":
            outer = 1 if kind == "^" else 1 << self.size
            if not self.lines:
                return outer
            breaks = self.where(Chars(NEWLINE))
            return outer | (breaks << 1 if kind == "^" else breaks)
        word = self.where(Chars(WORD))
        borders = word ^ (word << 1)
        return borders if kind == "b" else self.all & ~borders


def _units(text: str) -> str:
    """A pattern as JavaScript sees it without the `u` flag: in units of 16 bits."""
    if text.isascii() or max(text) <= "\uffff":
        return text
    return "".join(map(chr, memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")))
