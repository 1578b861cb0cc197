"""The position of an entry's text: in SillyTavern's result, and in a Fabula prompt (inj-7).

`place_texts` builds what SillyTavern would build: each text is put in front of the texts before it,
so the text with the highest `order` is read last; only outlets are read in descending order.

`place_entry` gives the placement in our prompt. A depth stays a depth. The positions beside the
character, the author's note and the examples, and outlets, become anchors if the writer's own preset
has an anchor of that name. Otherwise the entry stays in the retrieved layer: the built-in presets have
nothing at these positions, and text in front of everything would break the cached prefix. Our order is
200 minus SillyTavern's, because here the higher order comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from fabula.context.recipes import Preset
from fabula.core.fragment import Placement, Role
from fabula.core.messages import Sentence, message
from fabula.lorebook.model import DepthBlock, ExampleText, LoreEntry, Number, PlacedTexts
from fabula.lorebook.scan_order import ScanEntry, sort_by_order

DEFAULT_DEPTH = 4
MAX_DEPTH = 10_000  # beyond any conversation
DEFAULT_ORDER, MIRRORED_ORDER, MAX_ORDER = 100, 200, 1_000_000
_ROLES: tuple[Role, ...] = ("system", "user", "assistant")
_ANCHORS: dict[int, tuple[str, Literal["before", "after"]]] = {
    0: ("character", "before"),
    1: ("character", "after"),
    2: ("author_note", "before"),
    3: ("author_note", "after"),
    5: ("examples", "before"),
    6: ("examples", "after"),
}
_AT_DEPTH, _OUTLET = 4, 7


class EntryPlacement(NamedTuple):
    """The placement and role of an entry; without a placement it stays in its layer."""

    placement: Placement | None = None
    role: Role | None = None


def list_anchors(preset: Preset | None) -> frozenset[str]:
    """Return the anchors of the writer's own preset."""
    nodes = preset.nodes if preset is not None else ()
    return frozenset(node.anchor for node in nodes if node.enabled and node.anchor)


def place_entry(entry: LoreEntry, anchors: frozenset[str]) -> EntryPlacement | Sentence:
    """Return the placement of an entry, or the reason why it has none."""
    position = entry.position or 0
    if position == _AT_DEPTH:
        role = _ROLES[entry.role] if entry.role is not None and 0 <= entry.role < len(_ROLES) else _ROLES[0]
        depth = DEFAULT_DEPTH if entry.depth is None else _clamp(entry.depth, 0, MAX_DEPTH)
        return EntryPlacement(Placement(depth=depth, order=convert_order(entry.order)), role)
    if position == _OUTLET:
        name = entry.outlet_name or ""
        if name not in anchors:
            unnamed = message("its outlet has no name")
            return message("the preset has no place for its outlet {name!r}", name=name) if name else unnamed
        # Outlets are read in descending order, as ours are.
        order = _clamp(DEFAULT_ORDER if entry.order is None else entry.order, -MAX_ORDER, MAX_ORDER)
        return EntryPlacement(Placement(anchor=name, order=order), "system")
    if position not in _ANCHORS:
        return message("{position} is not a position in a prompt", position=position)
    anchor, side = _ANCHORS[position]
    if anchor not in anchors:
        return EntryPlacement()
    return EntryPlacement(Placement(anchor=anchor, side=side, order=convert_order(entry.order)), "system")


def convert_order(order: Number | None) -> int:
    """Convert SillyTavern's order to ours, where the higher order comes first."""
    return _clamp(MIRRORED_ORDER - (DEFAULT_ORDER if order is None else order), -MAX_ORDER, MAX_ORDER)


def _clamp(number: Number, low: int, high: int) -> int:
    return int(min(max(number, low), high))


def place_texts(active: Sequence[ScanEntry], *, has_author_note: bool) -> PlacedTexts:
    """Put the texts of the active entries at their positions."""
    flat: dict[int, list[str]] = {position: [] for position in range(4)}
    blocks: list[tuple[Number | None, int, list[str]]] = []
    examples: list[ExampleText] = []
    outlets: dict[str, list[str]] = {}
    for entry in sort_by_order(active):
        if not entry.text:
            continue
        fields = entry.fields
        match fields.position or 0:
            case 0 | 1 | 2 | 3 as position:
                flat[position].append(entry.text)
            case 4:
                _find_block(blocks, fields.depth, fields.role or 0).append(entry.text)
            case 5 | 6 as position:
                examples.append(ExampleText(position - 5, entry.text))
            case 7 if fields.outlet_name:
                outlets.setdefault(fields.outlet_name, []).append(entry.text)
            case _:
                pass
    top, bottom = (tuple(reversed(flat[position])) if has_author_note else () for position in (2, 3))
    return PlacedTexts(
        before="\n".join(reversed(flat[0])),
        after="\n".join(reversed(flat[1])),
        depth=tuple(DepthBlock(depth, role, tuple(reversed(texts))) for depth, role, texts in blocks),
        note_top=top,
        note_bottom=bottom,
        examples=tuple(reversed(examples)),
        outlets={name: tuple(texts) for name, texts in outlets.items()},
    )


def _find_block(blocks: list[tuple[Number | None, int, list[str]]], depth: Number | None, role: int) -> list[str]:
    """Return the texts of a block; an entry without a depth joins the block of depth 4, or gets its own."""
    for block_depth, block_role, texts in blocks:
        if block_depth == (DEFAULT_DEPTH if depth is None else depth) and block_role == role:
            return texts
    blocks.append((depth, role, []))
    return blocks[-1][2]
