"""Decide whether a regular expression matches anywhere in a text, in bounded time.

All positions of a text are tried at once. A set of positions is one large integer with a bit for each position. A
character class shifts the set by one where it matches, an alternation unites sets, a repetition grows the set until it
no longer changes. There is no backtracking, so no pattern runs away: `(a+)+$` costs what `a+$` costs. The bound counts
work, not time, so that the same text gives the same answer on every machine. No groups are captured.

Packages with JavaScript's semantics were tried and are no replacement: `regress` takes 3 s for `(a+)+$` and 25 letters
and cannot be interrupted, nor can a pattern in `quickjs`; V8 (`mini-racer`) can, by a clock, for 82 MB.
"""

from __future__ import annotations

from functools import lru_cache

from fabula.core.messages import Sentence
from fabula.text.js_regex.character_bits import LOOKUP_COST, CharacterPositions, RegexText
from fabula.text.js_regex.parser import (
    NEWLINE,
    WORD,
    Alternation,
    Boundary,
    CharacterClass,
    Concatenation,
    Lookaround,
    Node,
    RegexSyntaxError,
    Repetition,
    parse_regex,
)

WORK = 60_000_000  # bytes and steps for all patterns of a scan together: about a quarter of a second
_STEP_COST = 150  # the least that a step costs


class TooMuchWorkError(Exception):
    """Matching was given up: the text is too long for the pattern."""


class WorkBudget:
    """The work that remains for a scan; no pattern gets more than a quarter of it."""

    __slots__ = ("remaining",)

    def __init__(self, work: int = WORK) -> None:
        self.remaining = work


class JsRegex:
    """A parsed JavaScript regular expression."""

    __slots__ = ("_flags", "_root")

    def __init__(self, source: str, flags: str) -> None:
        self._flags = frozenset(flags)
        self._root = parse_regex(source if "u" in flags else _to_utf16_units(source), flags)

    def is_found_in(self, text: RegexText, budget: WorkBudget) -> bool:
        """Does it match anywhere in the text? Raises TooMuchWorkError where that would take too long."""
        if budget.remaining <= 0:
            raise TooMuchWorkError
        run = _RegexRun(text.code_points if "u" in self._flags else text.code_units, self._flags, budget.remaining // 4)
        try:
            return bool(run.move(self._root, 1 if "y" in self._flags else run.all))
        finally:
            budget.remaining -= run.work


@lru_cache(maxsize=512)
def compile_regex(source: str, flags: str) -> JsRegex | Sentence:
    """The regular expression, or the reason why it is invalid."""
    try:
        return JsRegex(source, flags)
    except RegexSyntaxError as error:
        return error.problem


class _RegexRun:
    """One match of a pattern against a text."""

    def __init__(self, characters: CharacterPositions, flags: frozenset[str], max_work: int) -> None:
        self.characters, self.size = characters, characters.size
        self.all = (1 << (self.size + 1)) - 1
        self.ignore_case, self.multiline = "i" in flags, "m" in flags
        self.masks: dict[Boundary | Lookaround, int] = {}
        self.work, self.max_work = LOOKUP_COST + self.size // 8, max_work

    def spend(self, work: int) -> None:
        self.work += work
        if self.work > self.max_work:
            raise TooMuchWorkError

    def move(self, node: Node, positions: int, *, forwards: bool = True) -> int:
        """The ends of matches that begin at these positions; backwards, the beginnings of those that end there."""
        if not positions:
            return 0
        self.spend(_STEP_COST + self.size // 8)
        match node:
            case CharacterClass():
                mask = self.find_positions(node)
                return (positions & mask) << 1 if forwards else (positions >> 1) & mask
            case Concatenation(parts):
                for part in parts if forwards else reversed(parts):
                    positions = self.move(part, positions, forwards=forwards)
                return positions
            case Alternation(parts):
                reached = 0
                for part in parts:
                    reached |= self.move(part, positions, forwards=forwards)
                return reached
            case Repetition(CharacterClass() as character, minimum, None) if forwards and minimum <= 1:
                mask = self.find_positions(character)
                if minimum:
                    positions = (positions & mask) << 1
                # The carry of the addition runs through each run of matching characters.
                return (((positions & mask) + mask) ^ mask) | positions
            case Repetition():
                return self.repeat(node, positions, forwards=forwards)
            case Lookaround() | Boundary():
                return positions & self.find_condition(node)

    def repeat(self, node: Repetition, positions: int, *, forwards: bool) -> int:
        for _ in range(node.minimum):
            moved = self.move(node.part, positions, forwards=forwards)
            if moved == positions:  # a fixed point: repeating it changes nothing
                break
            positions = moved
            if not positions:
                return 0
        reached, fresh, count = positions, positions, node.minimum
        while fresh and (node.maximum is None or count < node.maximum):
            fresh = self.move(node.part, fresh, forwards=forwards) & ~reached
            reached |= fresh
            count += 1
        return reached

    def find_condition(self, node: Boundary | Lookaround) -> int:
        """The positions at which a boundary or a lookaround holds."""
        known = self.masks.get(node)
        if known is None:
            if isinstance(node, Boundary):
                known = self.find_boundary(node.kind)
            else:
                known = self.move(node.part, self.all, forwards=not node.ahead)
                known = self.all & ~known if node.negated else known
            self.masks[node] = known
        return known

    def find_positions(self, chars: CharacterClass) -> int:
        return self.characters.find_positions(chars, self.ignore_case, self.spend)

    def find_boundary(self, kind: str) -> int:
        if kind in "^$":
            outer = 1 if kind == "^" else 1 << self.size
            if not self.multiline:
                return outer
            breaks = self.find_positions(CharacterClass(NEWLINE))
            return outer | (breaks << 1 if kind == "^" else breaks)
        word = self.find_positions(CharacterClass(WORD))
        borders = word ^ (word << 1)
        return borders if kind == "b" else self.all & ~borders


def _to_utf16_units(text: str) -> str:
    """A pattern as JavaScript sees it without the `u` flag: in UTF-16 code units."""
    if text.isascii() or max(text) <= "\uffff":
        return text
    return "".join(map(chr, memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")))
