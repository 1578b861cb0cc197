"""Presets of stores before tables 0006 and saves before format 3, whose nodes could have unknown fields.

Unknown fields were ignored then and are refused now, so upgrades remove them. The lists below are history: they do not
change with the presets.
"""

from __future__ import annotations

from typing import Any

_NODE = frozenset({"type", "id", "role", "content", "enabled", "injectionStrategy", "condition"})
_INJECTION_STRATEGY = frozenset({"depth", "anchorTarget", "anchorPosition", "order"})


def remove_unknown_fields(nodes: Any) -> Any:
    """The nodes of a preset without fields that no node has; anything that is not a node stays for the checks."""
    return [_clean_node(node) for node in nodes] if isinstance(nodes, list) else nodes


def _clean_node(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    cleaned = {name: value for name, value in node.items() if name in _NODE}
    strategy = cleaned.get("injectionStrategy")
    if isinstance(strategy, dict):
        known = {name: value for name, value in strategy.items() if name in _INJECTION_STRATEGY}
        cleaned["injectionStrategy"] = known
    return cleaned
