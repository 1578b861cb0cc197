"""A pattern as a tree: only what decides *whether* there is a match."""

from __future__ import annotations

from msgspec import Struct

LAST = 0x10FFFF
Range = tuple[int, int]


class Chars(Struct, frozen=True):
    """One character out of ranges and Unicode properties, each of them perhaps turned round."""

    ranges: tuple[Range, ...] = ()
    properties: tuple[tuple[str, bool], ...] = ()
    negated: bool = False


class Chain(Struct, frozen=True):
    """One after the other."""

    parts: tuple[Node, ...]


class Choice(Struct, frozen=True):
    """One or another."""

    parts: tuple[Node, ...]


class Repeat(Struct, frozen=True):
    """So often, at least and at most."""

    part: Node
    least: int
    most: int | None


class Look(Struct, frozen=True):
    """Something follows, or came before, without being part of the match."""

    part: Node
    ahead: bool
    negated: bool


class Edge(Struct, frozen=True):
    """A place between characters: `^`, `$`, `b` or `B`."""

    kind: str


Node = Chars | Chain | Choice | Repeat | Look | Edge


def complement(ranges: tuple[Range, ...]) -> tuple[Range, ...]:
    found, past = [], 0
    for low, high in sorted(ranges):
        if low > past:
            found.append((past, low - 1))
        past = max(past, high + 1)
    return (*found, (past, LAST)) if past <= LAST else tuple(found)


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
WHITE = "".join(chr(code) for low, high in SPACE for code in range(low, high + 1))  # what JavaScript trims
