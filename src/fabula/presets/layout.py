"""Where each message of a preset lands, as rows from the top of the prompt to its end.

The same rules as in `context.place`, told without a request: identity first, the layers and anchors in
their order, messages beside them or among the conversation by depth. What is switched off, or asks for
an anchor that is not there, is told as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from msgspec import Struct

from fabula.context.recipes import Condition, Node, Preset, UserProfile, prepare

Kind = Literal["identity", "anchor", "message", "history", "off"]
FIRST_WORDS = 60


class Row(Struct, frozen=True, kw_only=True, rename="camel"):
    """One line of the picture."""

    kind: Kind
    name: str
    role: str = ""
    words: str = ""  # the first ones
    depth: int | None = None
    order: int | None = None
    condition: str = ""
    note: str = ""


def picture(preset: Preset, skeleton: Preset, profile: UserProfile | None = None) -> list[Row]:
    """The rows of a preset on the skeleton of a recipe."""
    whole = prepare(preset, skeleton, profile)
    anchors = {node.anchor for node in whole.nodes if node.anchor}
    rows = [Row(kind="identity", name="identity", role="system")]
    deep: dict[int, list[Node]] = {}
    beside: dict[tuple[str, str], list[Node]] = {}
    listed: list[Node] = []
    for node in whole.nodes:
        wish = node.injection_strategy if node.type == "message" else None
        if node.type == "message" and not node.content.strip():
            continue
        if wish is not None and wish.depth is not None:
            deep.setdefault(wish.depth, []).append(node)
        elif wish is not None and wish.anchor_target in anchors:
            beside.setdefault((wish.anchor_target or "", wish.anchor_position), []).append(node)
        else:
            listed.append(node)
    for node in listed:
        anchor = node.anchor
        if anchor is None:
            rows.append(_message(node, _lost(node, anchors)))
            continue
        rows += map(_message, _ordered(beside.get((anchor, "before"), ())))
        if anchor == "chat_history":
            rows += _history(node, deep)
        else:
            rows.append(Row(kind="anchor", name=anchor, role=node.role, words=_first(node.content)))
        rows += map(_message, _ordered(beside.get((anchor, "after"), ())))
    rows += [Row(kind="off", name=node.id or node.type, words=_first(node.content)) for node in _off(preset)]
    return rows


def _history(node: Node, deep: dict[int, list[Node]]) -> list[Row]:
    """The conversation, oldest first, with what stands N messages from its end."""
    rows = [Row(kind="history", name="chat_history", role=node.role, note="older messages")]
    behind: int | None = None
    for depth in sorted(deep, reverse=True):
        if behind is not None and behind - depth:
            rows.append(_messages(node, behind - depth, current=depth == 0))
        rows += [_message(one) for one in _ordered(deep[depth])]
        behind = depth
    if behind:
        rows.append(_messages(node, behind, current=True))
    return rows


def _messages(node: Node, count: int, *, current: bool) -> Row:
    many = "1 message" if count == 1 else f"{count} messages"
    return Row(kind="history", name="chat_history", role=node.role, note=many + (", the input last" if current else ""))


def _ordered(nodes: Sequence[Node]) -> Iterable[Node]:
    return sorted(nodes, key=lambda node: -(node.injection_strategy.order if node.injection_strategy else 0))


def _message(node: Node, note: str = "") -> Row:
    wish = node.injection_strategy
    return Row(
        kind="message",
        name=node.id,
        role=node.role,
        words=_first(node.content),
        depth=wish.depth if wish is not None else None,
        order=wish.order if wish is not None else None,
        condition=told(node.condition) if node.condition is not None else "",
        note=note,
    )


def _lost(node: Node, anchors: Collection[str]) -> str:
    wish = node.injection_strategy
    if wish is None or wish.anchor_target is None or wish.anchor_target in anchors:
        return ""
    return f"the anchor {wish.anchor_target!r} is not here, so it stands where it is listed"


def _off(preset: Preset) -> list[Node]:
    return [node for node in preset.nodes if not node.enabled]


def _first(content: str) -> str:
    words = " ".join(content.split())
    return words if len(words) <= FIRST_WORDS else words[: FIRST_WORDS - 1].rstrip() + "…"


def told(condition: Condition) -> str:
    """A condition in a few words."""
    parts: list[str] = []
    if condition.keywords:
        names = {"any": "mentions", "all": "mentions all of", "none": "does not mention"}
        parts.append(f"{names[condition.logic]} {', '.join(condition.keywords)}")
    if condition.pattern:
        parts.append(f"matches {condition.pattern}")
    least, most = max(condition.min_messages or 0, condition.delay), condition.max_messages
    if least or most is not None:
        parts.append(f"{least} to {most} messages" if most is not None else f"from {least} messages on")
    if condition.modes:
        parts.append(f"in {', '.join(condition.modes)}")
    if condition.models:
        parts.append(f"for {', '.join(condition.models)}")
    if condition.probability < 100:
        parts.append(f"{condition.probability:g} % of the time")
    if condition.sticky:
        parts.append(f"lasts {condition.sticky}")
    if condition.cooldown:
        parts.append(f"rests {condition.cooldown}")
    if condition.group:
        parts.append(f"one of {condition.group}")
    return "; ".join(parts)
