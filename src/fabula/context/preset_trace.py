"""What became of each message of a preset: where it stands, or why it does not exist in this request."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from fabula.context.measure import Measure
from fabula.context.place import UNNAMED
from fabula.context.recipes.conditions import Settled
from fabula.context.recipes.preset import Node, Preset, node_name
from fabula.context.trace import Reason, Verdict


def preset_verdicts(
    preset: Preset, settled: Settled | None, unanchored: Collection[str], measure: Measure
) -> list[Verdict]:
    """A verdict for every node that says something. They belong to no layer: the budget is theirs before any."""
    unmet = settled.unmet if settled is not None else {}
    return [
        _verdict(node, node_name(node, at), unmet, unanchored, measure)
        for at, node in enumerate(preset.nodes)
        if node.content.strip()
    ]


def _verdict(node: Node, name: str, unmet: Mapping[str, str], unanchored: Collection[str], measure: Measure) -> Verdict:
    reason, tokens, detail = Reason.KEPT, measure.kept_unit(node.content.strip()).tokens, _where(node)
    if node.condition is not None and name in unmet:
        reason, tokens, detail = Reason.CONDITION_UNMET, 0, unmet[name]
    elif _wish(node) and (node.id or UNNAMED) in unanchored:
        reason, detail = Reason.ANCHOR_MISSING, _wish(node)
    return Verdict(f"preset:{name}", node.id, None, reason, tokens, 1.0, detail, node.content)


def _where(node: Node) -> str:
    wish = node.injection_strategy
    if node.type != "message" or wish is None or (wish.depth is None and wish.anchor_target is None):
        return "a message of the preset, where it is listed"
    place = f"{wish.anchor_position} {wish.anchor_target}" if wish.depth is None else f"at depth {wish.depth}"
    return f"a message of the preset, {place}"


def _wish(node: Node) -> str:
    """The anchor that decides where it stands, if one does."""
    wish = node.injection_strategy
    return wish.anchor_target or "" if wish is not None and wish.depth is None else ""
