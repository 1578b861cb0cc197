"""Presets: ordered nodes (messages, history, placeholders), anchors, injection strategies (ctx-1, inj-1, inj-3).

The four layers are anchors too. A preset may put messages between the layers. One that puts the
layers into another order is refused, and one that names none of them gets all four before the
conversation (ctx-1). A field that a preset does not have is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import Any, Literal

from msgspec import Struct, ValidationError, json
from msgspec.structs import replace

from fabula.context.recipes.conditions import Condition
from fabula.core.decoding import explain_decode_error
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Layer, Role
from fabula.core.messages import join_names, message
from fabula.text.macros import has_macros

BUILT_IN_ANCHORS = ("chat_history", "user_profile", "character", *(layer.value for layer in Layer))
NodeType = Literal["message", "chat_history", "user_profile", "placeholder"]

_ORDER = [*(layer.value for layer in Layer), "chat_history"]
_REQUIRED = frozenset(_ORDER)


class InjectionStrategy(Struct, frozen=True, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """Where a message is injected. Depth takes precedence over the anchor; without both it stays where it is listed."""

    depth: int | None = None
    anchor_target: str | None = None
    anchor_position: Literal["before", "after"] = "after"
    order: int = 100


class Node(Struct, frozen=True, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """One node of a preset."""

    type: NodeType = "message"
    id: str = ""
    role: Role | None = None  # None: that of the recipe's node for the same anchor, else system
    content: str = ""
    enabled: bool = True
    injection_strategy: InjectionStrategy | None = None
    condition: Condition | None = None  # for messages only

    @property
    def anchor(self) -> str | None:
        """The name by which messages can be placed beside this node; None for a message."""
        if self.type in ("chat_history", "user_profile"):
            return self.type
        return self.id if self.type == "placeholder" else None


NodeText = tuple[str, Role, str]  # the anchor of a node, or nothing; its role; its own text


class Preset(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An ordered list of nodes."""

    nodes: tuple[Node, ...]
    id: str = ""
    title: str = ""


class CompletePreset(Preset, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """A preset with every anchor of its recipe, in which every node has a role and a name."""

    names: tuple[str, ...]  # of each node: its id, else its number in the preset as it was written

    @cached_property
    def anchors(self) -> frozenset[str]:
        """The anchors of its nodes."""
        return frozenset(node.anchor for node in self.nodes if node.anchor)

    @cached_property
    def texts(self) -> tuple[NodeText, ...]:
        """What stands where each node is listed."""
        return tuple((node.anchor or "", node.role or "system", node.content.strip()) for node in self.nodes)

    @cached_property
    def has_injected(self) -> bool:
        """Whether some of its messages stand elsewhere than where they are listed."""
        return any(node.type == "message" and node.injection_strategy is not None for node in self.nodes)

    @cached_property
    def may_have_macros(self) -> bool:
        """Whether some of its texts may contain macros."""
        return any(has_macros(node.content) for node in self.nodes)

    @cached_property
    def conditions(self) -> dict[str, Condition]:
        """The conditions of the messages that exist only where their condition holds, by the message's name."""
        return {
            name: node.condition
            for name, node in zip(self.names, self.nodes, strict=True)
            if node.condition is not None
        }

    def without_nodes(self, names: Collection[str]) -> CompletePreset:
        """The preset without some of its conditional messages."""
        kept = [
            (name, node)
            for name, node in zip(self.names, self.nodes, strict=True)
            if node.condition is None or name not in names
        ]
        return replace(self, names=tuple([name for name, _ in kept]), nodes=tuple([node for _, node in kept]))


_REQUIRED_NODES = (
    Node(type="placeholder", id="rules", role="system"),
    Node(type="placeholder", id="settings", role="system"),
    Node(type="placeholder", id="retrieved", role="user"),
    Node(type="placeholder", id="immediate", role="user"),
    Node(type="chat_history", id="chat_history", role="user"),
)


class UserProfile(Struct, frozen=True):
    """What a person says about themselves: the content of the `user_profile` anchor (mem-5)."""

    text: str


def available_anchors(preset: Preset) -> tuple[str, ...]:
    """Every anchor a message may name: the built-in ones, then the preset's own."""
    own = (node.anchor for node in preset.nodes if node.type == "placeholder" and node.id)
    return tuple(dict.fromkeys((*BUILT_IN_ANCHORS, *(name for name in own if name))))


def validate_preset(preset: Any) -> Preset:
    """Return a preset whose values have the types of their fields, as JSON would give it; refuse any other.

    A program without type checks may make a preset of anything; a table of names and values is read as JSON is.
    """
    try:
        return json.decode(json.encode(preset), type=Preset)
    except (ValidationError, TypeError, ValueError) as error:
        reason, node = explain_decode_error(error, Preset), _find_wrong_node(preset)
        title = preset.title if isinstance(preset, Preset) else ""
        if node:
            problem = message(
                "The message {node!r} of the preset {name!r} cannot be used: {error}.",
                node=node,
                name=title,
                error=reason,
            )
        else:
            problem = message("The preset {name!r} cannot be used: {error}.", name=title, error=reason)
        raise FabulaError(Code.PRESET_INVALID, problem) from error


def _find_wrong_node(preset: Any) -> str:
    """Return the id of the first node whose values have other types than its fields; empty where none has one."""
    for node in preset.nodes if isinstance(preset, Preset) else ():
        try:
            json.decode(json.encode(node), type=Node)
        except (ValidationError, TypeError, ValueError):
            return str(getattr(node, "id", "") or "")
    return ""


def complete_preset(preset: Preset, skeleton: Preset, profile: UserProfile | None = None) -> CompletePreset:
    """Add every anchor of the skeleton that the preset lacks and did not disable; refuse what cannot be used.

    Layers and conversation that the skeleton lacks too are added all the same (ctx-1). A user profile becomes the
    content of its anchor.
    """
    preset = validate_preset(preset)
    roles = {node.anchor: node.role for node in (*_REQUIRED_NODES, *skeleton.nodes) if node.anchor and node.role}
    ids = {node.id for node in preset.nodes}
    named = [
        (node.id or _number_node(number, ids), _with_role(node, roles.get(node.anchor or "")))
        for number, node in enumerate(preset.nodes, start=1)
        if node.enabled
    ]
    anchors = [node.anchor for _, node in named]
    disabled = {node.anchor for node in preset.nodes if not node.enabled} - _REQUIRED
    for base in (skeleton.nodes, _REQUIRED_NODES):
        for number in range(len(base) - 1, -1, -1):
            anchor = base[number].anchor
            if anchor and anchor not in anchors and anchor not in disabled:
                followers = [node.anchor for node in base[number + 1 :]]
                # right before the first that follows it in the skeleton and is present
                index = next((anchors.index(name) for name in followers if name in anchors), len(anchors))
                named.insert(index, (anchor, _with_role(base[number], roles.get(anchor))))
                anchors.insert(index, anchor)
    _check_anchors([anchor for anchor in anchors if anchor])
    _check_nodes(named)
    nodes = [node for _, node in named]
    if profile is not None and profile.text.strip():
        nodes = [replace(node, content=profile.text) if node.type == "user_profile" else node for node in nodes]
    names = tuple([name for name, _ in named])
    return CompletePreset(nodes=tuple(nodes), names=names, id=preset.id, title=preset.title)


def _with_role(node: Node, role: Role | None) -> Node:
    """A node with a role: its own, else the given one."""
    return node if node.role else replace(node, role=role or "system")


def _number_node(number: int, ids: Collection[str]) -> str:
    """The name of a node without an id: its number, unless another node has that as its id."""
    return f"#{number}" if str(number) in ids else str(number)


def _check_anchors(anchors: Sequence[str]) -> None:
    layers = [anchor for anchor in anchors if anchor in _REQUIRED]
    if layers != sorted(layers, key=_ORDER.index):
        raise FabulaError(
            Code.PRESET_LAYER_ORDER,
            message(
                "This preset puts the layers in the order {layers}. Their order is fixed: {order}. "
                "Move the placeholders back, or leave them out.",
                layers=join_names(layers),
                order=join_names(_ORDER),
            ),
        )
    twice = next((name for name in anchors if anchors.count(name) > 1), None)
    if twice is not None:
        raise FabulaError(
            Code.PRESET_INVALID,
            message("The anchor {name!r} stands in this preset twice. Keep one of them.", name=twice),
        )


def _check_nodes(nodes: Iterable[tuple[str, Node]]) -> None:
    names: set[str] = set()
    for name, node in nodes:
        if node.injection_strategy is not None and (node.injection_strategy.depth or 0) < 0:
            raise FabulaError(
                Code.PRESET_INVALID,
                message(
                    "The message {name!r} has a depth below 0. Give it a depth from 0 (behind the newest message) up.",
                    name=name,
                ),
            )
        if node.type == "chat_history" and node.role == "system":
            raise FabulaError(
                Code.PRESET_INVALID,
                message(
                    "The node `chat_history` has the role system, so what a person says would be sent as an "
                    "instruction of the system. Use the role user, or leave the role out."
                ),
            )
        if node.condition is None:
            continue
        flaw = node.condition.find_flaw()
        if node.type != "message":
            flaw = message("only messages can have a condition")
        if name in names:
            flaw = message("another message with a condition has the same id")
        names.add(name)
        if flaw is not None:
            raise FabulaError(
                Code.PRESET_INVALID,
                message("The condition of {name!r} cannot be used: {flaw}.", name=name, flaw=flaw),
            )
