"""Presets: an ordered list of nodes, some of which name a place that others can stand beside.

The four layers are anchors too, and their order belongs to the house: a preset may put its own
messages between them, but one that turns them round is refused, and one that names none of them
gets all four in front of the conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.fragments import Layer, Role

BUILT_IN = ("chat_history", "user_profile", "character", *(layer.value for layer in Layer))
NodeType = Literal["message", "chat_history", "user_profile", "placeholder"]


class Injection(Struct, frozen=True, rename="camel", kw_only=True):
    """Where a message wants to stand. Depth outranks anchor, anchor outranks neither."""

    depth: int | None = None
    anchor_target: str | None = None
    anchor_position: Literal["before", "after"] = "after"
    order: int = 100


class Node(Struct, frozen=True, rename="camel", kw_only=True):
    """One line of a preset."""

    type: NodeType = "message"
    id: str = ""
    role: Role = "system"
    content: str = ""
    enabled: bool = True
    injection_strategy: Injection | None = None

    @property
    def anchor(self) -> str | None:
        """The name others can stand beside, if this node is a place."""
        if self.type in ("chat_history", "user_profile"):
            return self.type
        return self.id if self.type == "placeholder" else None


class Preset(Struct, frozen=True, kw_only=True):
    """An ordered list of nodes."""

    nodes: tuple[Node, ...]
    id: str = ""
    title: str = ""


def available_anchors(preset: Preset) -> tuple[str, ...]:
    """Every anchor a message may name: the built-in ones, then the preset's own."""
    own = (node.anchor for node in preset.nodes if node.type == "placeholder" and node.id)
    return tuple(dict.fromkeys((*BUILT_IN, *(name for name in own if name))))


def prepare(preset: Preset, skeleton: Preset) -> Preset:
    """A preset made complete: every built-in anchor stands in it once, unless it was switched off."""
    nodes = [node for node in preset.nodes if node.enabled]
    here = {node.anchor for node in nodes}
    switched_off = {node.anchor for node in preset.nodes if not node.enabled} - _NEEDED
    for node in reversed(skeleton.nodes):
        if node.anchor not in here and node.anchor not in switched_off:
            nodes.insert(_seat(nodes, node, skeleton), node)
    _check(nodes)
    return Preset(nodes=tuple(nodes), id=preset.id, title=preset.title)


def _seat(nodes: Sequence[Node], node: Node, skeleton: Preset) -> int:
    """Right before whatever follows it in the skeleton and is here already."""
    order = [known.anchor for known in skeleton.nodes]
    place = order.index(node.anchor)
    here = [known.anchor for known in nodes]
    for follower in order[place + 1 :]:
        if follower in here:
            return here.index(follower)
    return len(nodes)


def _check(nodes: Sequence[Node]) -> None:
    placed = [node.anchor for node in nodes if node.anchor in _ORDER]
    if placed != sorted(placed, key=lambda name: _ORDER.index(name or "")):
        raise FabulaError(
            Code.PRESET_LAYER_ORDER,
            f"This preset puts the layers in the order {', '.join(str(name) for name in placed)}. Their order is "
            f"fixed: {', '.join(_ORDER)}. Move the placeholders back, or leave them out.",
        )
    deep = next((n for n in nodes if n.injection_strategy and (n.injection_strategy.depth or 0) < 0), None)
    if deep is not None:
        raise FabulaError(
            Code.PRESET_INVALID,
            f"The message {deep.id!r} has a depth below 0. Give it a depth from 0 (behind the newest message) up.",
        )
    anchors = [node.anchor for node in nodes if node.anchor]
    twice = next((name for name in anchors if anchors.count(name) > 1), None)
    if twice:
        raise FabulaError(Code.PRESET_INVALID, f"The anchor {twice!r} stands in this preset twice. Keep one of them.")


_ORDER = [*(layer.value for layer in Layer), "chat_history"]
_NEEDED = frozenset(_ORDER)
