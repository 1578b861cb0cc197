"""Where the activated texts stand.

Walked by descending order, each text is put in front of those before it: what is read last has the
highest order, and among equals the one activated first. Outlets are the exception: they read
descending.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from fabula.lorebook.model import DepthBlock, Example, Number
from fabula.lorebook.scan_order import Lore, by_order

DEPTH = 4


class Placed(Struct, frozen=True):
    """All texts in their places."""

    before: str
    after: str
    depth: tuple[DepthBlock, ...]
    an_top: tuple[str, ...]
    an_bottom: tuple[str, ...]
    em: tuple[Example, ...]
    outlets: dict[str, tuple[str, ...]]


def place(activated: Sequence[Lore], *, note: bool) -> Placed:
    """The texts of the activated entries, put where each belongs."""
    flat: dict[int, list[str]] = {position: [] for position in range(4)}
    blocks: list[tuple[Number | None, int, list[str]]] = []
    examples: list[Example] = []
    outlets: dict[str, list[str]] = {}
    for lore in by_order(activated):
        if not lore.text:
            continue
        entry = lore.entry
        match entry.position or 0:
            case 0 | 1 | 2 | 3 as position:
                flat[position].append(lore.text)
            case 4:
                _block(blocks, entry.depth, entry.role or 0).append(lore.text)
            case 5 | 6 as position:
                examples.append(Example(position - 5, lore.text))
            case 7 if entry.outlet_name:
                outlets.setdefault(entry.outlet_name, []).append(lore.text)
            case _:
                pass
    top, bottom = (tuple(reversed(flat[position])) if note else () for position in (2, 3))
    return Placed(
        before="\n".join(reversed(flat[0])),
        after="\n".join(reversed(flat[1])),
        depth=tuple(DepthBlock(depth, role, tuple(reversed(texts))) for depth, role, texts in blocks),
        an_top=top,
        an_bottom=bottom,
        em=tuple(reversed(examples)),
        outlets={name: tuple(texts) for name, texts in outlets.items()},
    )


def _block(blocks: list[tuple[Number | None, int, list[str]]], depth: Number | None, role: int) -> list[str]:
    """The texts of a block; without a depth an entry joins that of depth 4, or else stands by itself."""
    for place, who, texts in blocks:
        if place == (DEPTH if depth is None else depth) and who == role:
            return texts
    blocks.append((depth, role, []))
    return blocks[-1][2]
