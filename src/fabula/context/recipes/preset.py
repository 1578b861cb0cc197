"""Presets: an ordered list of nodes, some of which name a place that others can stand beside.

The four layers are anchors too, and their order belongs to the house: a preset may put its own
messages between them, but one that turns them round is refused, and one that names none of them
gets all four in front of the conversation.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from fabula.context.recipes.conditions import Condition
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Layer, Role

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
    condition: Condition | None = None  # of messages only

    @property
    def anchor(self) -> str | None:
        """The name others can stand beside, if this node is a place."""
        if self.type in ("chat_history", "user_profile"):
            return self.type
        return self.id if self.type == "placeholder" else None


class Preset(Struct, frozen=True, kw_only=True, cache_hash=True):
    """An ordered list of nodes."""

    nodes: tuple[Node, ...]
    id: str = ""
    title: str = ""

    def without(self, names: Collection[str]) -> Preset:
        """The same without some of its conditional messages."""
        left = (node for at, node in enumerate(self.nodes) if not node.condition or node_name(node, at) not in names)
        return replace(self, nodes=tuple(left))


@lru_cache(maxsize=64)
def conditional(preset: Preset) -> dict[str, Node]:
    """The messages that exist only where their condition holds, by their names."""
    return {node_name(node, at): node for at, node in enumerate(preset.nodes) if node.condition is not None}


class UserProfile(Struct, frozen=True):
    """What a person says of themselves: the content of the `user_profile` anchor (mem-5)."""

    text: str


def node_name(node: Node, at: int) -> str:
    """What a message is called where it must be told from others: its id, or its number."""
    return node.id or f"{at + 1}"


def available_anchors(preset: Preset) -> tuple[str, ...]:
    """Every anchor a message may name: the built-in ones, then the preset's own."""
    own = (node.anchor for node in preset.nodes if node.type == "placeholder" and node.id)
    return tuple(dict.fromkeys((*BUILT_IN, *(name for name in own if name))))


def prepare(preset: Preset, skeleton: Preset, profile: UserProfile | None = None) -> Preset:
    """A preset made complete: every built-in anchor stands in it once, unless it was switched off.

    A profile is what its own anchor says, in place of whatever the preset would have it say.
    """
    nodes = [node for node in preset.nodes if node.enabled]
    here = {node.anchor for node in nodes}
    switched_off = {node.anchor for node in preset.nodes if not node.enabled} - _NEEDED
    for node in reversed(skeleton.nodes):
        if node.anchor not in here and node.anchor not in switched_off:
            nodes.insert(_seat(nodes, node, skeleton), node)
    _check(nodes)
    if profile is not None and profile.text.strip():
        nodes = [replace(node, content=profile.text) if node.type == "user_profile" else node for node in nodes]
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
    _check_conditions(nodes)
    anchors = [node.anchor for node in nodes if node.anchor]
    twice = next((name for name in anchors if anchors.count(name) > 1), None)
    if twice:
        raise FabulaError(Code.PRESET_INVALID, f"The anchor {twice!r} stands in this preset twice. Keep one of them.")


def _check_conditions(nodes: Sequence[Node]) -> None:
    names: set[str] = set()
    for at, node in enumerate(nodes):
        if node.condition is None:
            continue
        name = node_name(node, at)
        flaw = node.condition.flaw() if node.type == "message" else "it is a place, and places are always there"
        if name in names:
            flaw = "another message with a condition has the same id"
        names.add(name)
        if flaw is not None:
            raise FabulaError(Code.PRESET_INVALID, f"The condition of {name!r} cannot be used: {flaw}.")


_ORDER = [*(layer.value for layer in Layer), "chat_history"]
_NEEDED = frozenset(_ORDER)
