"""The syntax tree of a regular expression, reduced to what decides whether there is a match."""

from __future__ import annotations

from msgspec import Struct

LAST_CODE_POINT = 0x10FFFF
Range = tuple[int, int]


class CharacterClass(Struct, frozen=True):
    """One character out of ranges and Unicode properties; a property is a name and whether it is negated."""

    ranges: tuple[Range, ...] = ()
    properties: tuple[tuple[str, bool], ...] = ()
    negated: bool = False


class Concatenation(Struct, frozen=True):
    """Parts that follow one another."""

    parts: tuple[Node, ...]


class Alternation(Struct, frozen=True):
    """One of several parts."""

    parts: tuple[Node, ...]


class Repetition(Struct, frozen=True):
    """A part repeated at least `minimum` and at most `maximum` times; None for no limit."""

    part: Node
    minimum: int
    maximum: int | None


class Lookaround(Struct, frozen=True):
    """A part that must, or must not, follow or precede a position."""

    part: Node
    ahead: bool
    negated: bool


class Boundary(Struct, frozen=True):
    """A condition on a position between characters: `^`, `$`, `b` or `B`."""

    kind: str


Node = CharacterClass | Concatenation | Alternation | Repetition | Lookaround | Boundary


def complement(ranges: tuple[Range, ...]) -> tuple[Range, ...]:
    """All characters outside these ranges."""
    found, past = [], 0
    for low, high in sorted(ranges):
        if low > past:
            found.append((past, low - 1))
        past = max(past, high + 1)
    return (*found, (past, LAST_CODE_POINT)) if past <= LAST_CODE_POINT else tuple(found)


DIGIT: tuple[Range, ...] = ((48, 57),)
WORD: tuple[Range, ...] = ((48, 57), (65, 90), (95, 95), (97, 122))
SPACE: tuple[Range, ...] = (
    (9, 13),
    (32, 32),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
    (0xFEFF, 0xFEFF),
)
NEWLINE: tuple[Range, ...] = ((10, 10), (13, 13), (0x2028, 0x2029))
JS_WHITESPACE = "".join(
    chr(code) for low, high in SPACE for code in range(low, high + 1)
)  # the characters that JavaScript's trim removes
