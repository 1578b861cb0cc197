"""Shows where each message of a preset is placed, from the top of the prompt to its end (inj-1, inj-2, inj-3).

The layout follows the rules of `context.place` without a request: identity first, then layers and anchors in order,
with messages beside them, or inside the conversation by depth. It also lists disabled nodes, and says which messages
name an anchor that does not exist.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from msgspec import Struct, field

from fabula.context.recipes import Condition, Node, Preset, UserProfile, complete_preset

RowKind = Literal["identity", "anchor", "message", "history", "off"]
EXCERPT_LENGTH = 60


class LayoutRow(Struct, frozen=True, kw_only=True, rename="camel"):
    """One row of the layout: the identity, an anchor, a message, part of the history, or a disabled node."""

    kind: RowKind
    name: str
    role: str = ""
    excerpt: str = field(default="", name="words")  # the beginning of its content
    depth: int | None = None
    order: int | None = None
    condition: str = ""
    note: str = ""


def make_layout(preset: Preset, skeleton: Preset, profile: UserProfile | None = None) -> list[LayoutRow]:
    """Lay out a preset on the skeleton of a recipe."""
    nodes = complete_preset(preset, skeleton, profile).nodes
    anchors = {node.anchor for node in nodes if node.anchor}
    rows = [LayoutRow(kind="identity", name="identity", role="system")]
    by_depth: dict[int, list[Node]] = {}
    by_anchor: dict[tuple[str, str], list[Node]] = {}
    in_list_order: list[Node] = []
    for node in nodes:
        strategy = node.injection_strategy if node.type == "message" else None
        if node.type == "message" and not node.content.strip():
            continue
        if strategy is not None and strategy.depth is not None:
            by_depth.setdefault(strategy.depth, []).append(node)
        elif strategy is not None and strategy.anchor_target in anchors:
            by_anchor.setdefault((strategy.anchor_target or "", strategy.anchor_position), []).append(node)
        else:
            in_list_order.append(node)
    for node in in_list_order:
        anchor = node.anchor
        if anchor is None:
            rows.append(_message_row(node, _missing_anchor_note(node, anchors)))
            continue
        rows += map(_message_row, _sort_by_order(by_anchor.get((anchor, "before"), ())))
        if anchor == "chat_history":
            rows += _history_rows(node, by_depth)
        else:
            rows.append(LayoutRow(kind="anchor", name=anchor, role=node.role, excerpt=_shorten(node.content)))
        rows += map(_message_row, _sort_by_order(by_anchor.get((anchor, "after"), ())))
    disabled = (node for node in preset.nodes if not node.enabled)
    rows += [LayoutRow(kind="off", name=node.id or node.type, excerpt=_shorten(node.content)) for node in disabled]
    return rows


def describe_condition(condition: Condition) -> str:
    """Describe a condition in a few words."""
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


def _history_rows(node: Node, by_depth: Mapping[int, Sequence[Node]]) -> list[LayoutRow]:
    """The conversation, oldest message first, with the messages injected at each depth."""
    rows = [LayoutRow(kind="history", name="chat_history", role=node.role, note="older messages")]
    previous_depth: int | None = None
    for depth in sorted(by_depth, reverse=True):
        if previous_depth is not None and previous_depth - depth:
            rows.append(_count_row(node, previous_depth - depth, with_input=depth == 0))
        rows += map(_message_row, _sort_by_order(by_depth[depth]))
        previous_depth = depth
    if previous_depth:
        rows.append(_count_row(node, previous_depth, with_input=True))
    return rows


def _count_row(node: Node, count: int, *, with_input: bool) -> LayoutRow:
    note = ("1 message" if count == 1 else f"{count} messages") + (", the input last" if with_input else "")
    return LayoutRow(kind="history", name="chat_history", role=node.role, note=note)


def _message_row(node: Node, note: str = "") -> LayoutRow:
    strategy = node.injection_strategy
    return LayoutRow(
        kind="message",
        name=node.id,
        role=node.role,
        excerpt=_shorten(node.content),
        depth=strategy.depth if strategy is not None else None,
        order=strategy.order if strategy is not None else None,
        condition=describe_condition(node.condition) if node.condition is not None else "",
        note=note,
    )


def _sort_by_order(nodes: Sequence[Node]) -> list[Node]:
    return sorted(nodes, key=lambda node: -(node.injection_strategy.order if node.injection_strategy else 0))


def _missing_anchor_note(node: Node, anchors: Collection[str]) -> str:
    strategy = node.injection_strategy
    if strategy is None or strategy.anchor_target is None or strategy.anchor_target in anchors:
        return ""
    return f"the anchor {strategy.anchor_target!r} is not here, so it stands where it is listed"


def _shorten(content: str) -> str:
    text = " ".join(content.split())
    return text if len(text) <= EXCERPT_LENGTH else text[: EXCERPT_LENGTH - 1].rstrip() + "…"
