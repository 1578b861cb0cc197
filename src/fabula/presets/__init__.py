"""Presets of a project: the user's own prompt messages and where they are injected (inj-1, inj-2, inj-3)."""

from fabula.presets.edits import (
    StoredPreset,
    activate,
    find,
    get,
    list_presets,
    load_active,
    parse_preset,
    put,
    remove,
)
from fabula.presets.layout import LayoutRow, describe_condition, make_layout

__all__ = [
    "LayoutRow",
    "StoredPreset",
    "activate",
    "describe_condition",
    "find",
    "get",
    "list_presets",
    "load_active",
    "make_layout",
    "parse_preset",
    "put",
    "remove",
]
