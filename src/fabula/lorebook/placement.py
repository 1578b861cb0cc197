"""The seat of an entry in a prompt, from what its book says.

A depth is a depth. Places beside the character, the author's note or the examples, and outlets, are anchors,
where the writer's own preset has one of that name; the built-in layouts have nothing standing there, and an
entry in front of everything would throw the cached prefix away with each message, so there it simply stands
in its layer. SillyTavern reads ascending: our order is 200 less theirs, and higher comes first.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from fabula.context.recipes import Preset
from fabula.core.fragment import Placement, Role
from fabula.lorebook.model import LoreEntry, Number
from fabula.lorebook.text_positions import DEPTH

DEEPEST = 10_000  # beyond any conversation
_USUAL, _TURNED, _FURTHEST = 100, 200, 1_000_000
_ROLES: tuple[Role, ...] = ("system", "user", "assistant")
_BESIDE: dict[int, tuple[str, Literal["before", "after"]]] = {
    0: ("character", "before"),
    1: ("character", "after"),
    2: ("author_note", "before"),
    3: ("author_note", "after"),
    5: ("examples", "before"),
    6: ("examples", "after"),
}
_AT_DEPTH, _OUTLET = 4, 7


class Seat(NamedTuple):
    """Where an entry stands; no placement means: in its layer."""

    placement: Placement | None = None
    role: Role | None = None


def anchors_of(preset: Preset | None) -> frozenset[str]:
    """The places that the writer's own preset has."""
    nodes = preset.nodes if preset is not None else ()
    return frozenset(node.anchor for node in nodes if node.enabled and node.anchor)


def seat(entry: LoreEntry, anchors: frozenset[str]) -> Seat | str:
    """Where an entry stands, or why nowhere."""
    position = entry.position or 0
    if position == _AT_DEPTH:
        role = _ROLES[entry.role] if entry.role is not None and 0 <= entry.role < len(_ROLES) else _ROLES[0]
        depth = DEPTH if entry.depth is None else _whole(entry.depth, 0, DEEPEST)
        return Seat(Placement(depth=depth, order=our_order(entry.order)), role)
    if position == _OUTLET:
        name = entry.outlet_name or ""
        if name not in anchors:
            return f"its outlet {name!r} has no place in the preset" if name else "its outlet has no name"
        # Outlets read descending.
        order = _whole(_USUAL if entry.order is None else entry.order, -_FURTHEST, _FURTHEST)
        return Seat(Placement(anchor=name, order=order), "system")
    if position not in _BESIDE:
        return f"{position} is no position in a prompt"
    anchor, side = _BESIDE[position]
    if anchor not in anchors:
        return Seat()
    return Seat(Placement(anchor=anchor, side=side, order=our_order(entry.order)), "system")


def our_order(order: Number | None) -> int:
    """SillyTavern's order in our sense: higher is earlier."""
    return _whole(_TURNED - (_USUAL if order is None else order), -_FURTHEST, _FURTHEST)


def _whole(number: Number, least: int, most: int) -> int:
    return int(min(max(number, least), most))
