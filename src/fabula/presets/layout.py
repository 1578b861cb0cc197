"""Shows where each message of a preset is placed, from the top of the prompt to its end (inj-1, inj-2, inj-3).

The layout follows the rules of `context.place` without a request: identity first, then layers and anchors in order,
with messages beside them, or inside the conversation by depth. It also lists disabled nodes, and says which messages
name an anchor, a recipe, a skill or a mode that does not exist.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Literal

from msgspec import Struct, field

from fabula.context.recipes import Condition, InjectionStrategy, Node, Preset, UserProfile, complete_preset
from fabula.core.messages import Sentence, join_names, message, plural
from fabula.core.similar_names import find_similar_names

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


def make_layout(
    preset: Preset,
    skeleton: Preset,
    profile: UserProfile | None = None,
    *,
    language: str = "en",
    modes: Collection[str] | None = None,
) -> list[LayoutRow]:
    """Lay out a preset on the skeleton of a recipe; conditions and notes are in that language.

    `modes` are the names of all recipes, skills and modes that a condition may have, where they are known.
    """
    complete = complete_preset(preset, skeleton, profile)
    anchors = {node.anchor for node in complete.nodes if node.anchor}
    rows = [LayoutRow(kind="identity", name="identity", role="system")]
    by_depth: dict[int, list[LayoutRow]] = {}
    by_anchor: dict[tuple[str, str], list[LayoutRow]] = {}
    in_list_order: list[tuple[Node, LayoutRow]] = []
    for name, node in zip(complete.names, complete.nodes, strict=True):
        strategy, anchor = node.injection_strategy if node.type == "message" else None, node.anchor
        if anchor is None and not node.content.strip():
            continue
        row = LayoutRow(kind="anchor", name=anchor or "", role=node.role or "", excerpt=_shorten(node.content))
        if anchor is None:
            row = _message_row(name, node, anchors, modes, language)
        if strategy is not None and strategy.depth is not None:
            by_depth.setdefault(strategy.depth, []).append(row)
        elif strategy is not None and strategy.anchor_target in anchors:
            by_anchor.setdefault((strategy.anchor_target or "", strategy.anchor_position), []).append(row)
        else:
            in_list_order.append((node, row))
    for node, row in in_list_order:
        anchor = node.anchor or ""
        rows += _by_order(by_anchor.get((anchor, "before"), ()))
        rows += _history_rows(node.role or "", by_depth, language) if anchor == "chat_history" else [row]
        rows += _by_order(by_anchor.get((anchor, "after"), ()))
    disabled = (node for node in preset.nodes if not node.enabled)
    rows += [LayoutRow(kind="off", name=node.id or node.type, excerpt=_shorten(node.content)) for node in disabled]
    return rows


def describe_condition(condition: Condition, language: str = "en") -> str:
    """Describe a condition in a few words."""
    parts: list[Sentence] = []
    if condition.keywords:
        names = join_names(condition.keywords)
        match condition.logic:
            case "any":
                parts.append(message("mentions {names}", names=names))
            case "all":
                parts.append(message("mentions all of {names}", names=names))
            case "none":
                parts.append(message("does not mention {names}", names=names))
    if condition.pattern:
        parts.append(message("matches {pattern}", pattern=condition.pattern))
    least, most = max(condition.min_messages or 0, condition.delay), condition.max_messages
    if most is not None:
        parts.append(message("{least} to {most} messages", least=least, most=most))
    elif least:
        parts.append(message("from {least} messages on", least=least))
    if condition.modes:
        parts.append(message("in {modes}", modes=join_names(condition.modes)))
    if condition.models:
        parts.append(message("for {models}", models=join_names(condition.models)))
    if condition.probability < 100:
        parts.append(message("{percent:g} % of the time", percent=condition.probability))
    if condition.sticky:
        parts.append(message("lasts {messages}", messages=condition.sticky))
    if condition.cooldown:
        parts.append(message("rests {messages}", messages=condition.cooldown))
    if condition.group:
        parts.append(message("one of {group}", group=condition.group))
    return message("; ").render(language).join(part.render(language) for part in parts)


def _history_rows(role: str, by_depth: Mapping[int, Sequence[LayoutRow]], language: str) -> list[LayoutRow]:
    """The conversation, oldest message first, with the messages injected at each depth."""

    def history_row(note: Sentence) -> LayoutRow:
        return LayoutRow(kind="history", name="chat_history", role=role, note=note.render(language))

    rows = [history_row(message("older messages"))]
    depths = sorted(by_depth, reverse=True)
    for depth, next_depth in zip_longest(depths, depths[1:], fillvalue=0):
        rows += _by_order(by_depth[depth])
        if depth > next_depth:
            note = plural(depth - next_depth, "{count} message", "{count} messages")
            rows.append(history_row(note if next_depth else message("{messages}, the input last", messages=note)))
    return rows


def _message_row(
    name: str, node: Node, anchors: Collection[str], modes: Collection[str] | None, language: str
) -> LayoutRow:
    strategy, notes = node.injection_strategy or InjectionStrategy(), []
    if strategy.depth is None and strategy.anchor_target is not None and strategy.anchor_target not in anchors:
        notes.append(
            message("the anchor {anchor!r} is not here, so it stands where it is listed", anchor=strategy.anchor_target)
        )
    if modes is not None and node.condition is not None:
        notes += [_note_missing_mode(mode, modes) for mode in node.condition.modes if mode not in modes]
    return LayoutRow(
        kind="message",
        name=name,
        role=node.role or "",
        excerpt=_shorten(node.content),
        depth=strategy.depth,
        order=strategy.order if node.injection_strategy is not None else None,
        condition=describe_condition(node.condition, language) if node.condition is not None else "",
        note=message("; ").render(language).join(note.render(language) for note in notes),
    )


def _note_missing_mode(name: str, modes: Collection[str]) -> Sentence:
    for nearest in find_similar_names(name, sorted(modes), most=1):
        return message(
            "no recipe, skill or mode is called {name!r}; the nearest is {nearest!r}", name=name, nearest=nearest
        )
    return message("no recipe, skill or mode is called {name!r}", name=name)


def _by_order(rows: Iterable[LayoutRow]) -> list[LayoutRow]:
    """The highest order first; equal ones as they are listed."""
    return sorted(rows, key=lambda row: -(row.order or 0))


def _shorten(content: str) -> str:
    text = " ".join(content.split())
    return text if len(text) <= EXCERPT_LENGTH else text[: EXCERPT_LENGTH - 1].rstrip() + "…"
