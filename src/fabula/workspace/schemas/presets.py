"""Schemas of presets and of their layout (inj-1)."""

from __future__ import annotations

from fabula.context.recipes import Node, Preset
from fabula.presets.edits import StoredPreset
from fabula.presets.layout import LayoutRow
from fabula.workspace.presets import PresetLayout
from fabula.workspace.schemas.schema import Schema


class PresetInfo(Schema):
    """A preset in a list; `nodes` is how many it has."""

    id: str
    title: str
    active: bool
    nodes: int
    version: int


class PresetNodes(Schema):
    """The nodes of a preset, in the form in which they are stored again."""

    nodes: tuple[Node, ...]


class LayoutInfo(Schema):
    """Where each message of a preset lands, from the top of the prompt to its end."""

    title: str
    recipe: str
    rows: tuple[LayoutRow, ...]


def describe_preset(stored: StoredPreset) -> PresetInfo:
    """Describe a preset of the store."""
    return PresetInfo(
        id=stored.preset.id,
        title=stored.preset.title,
        active=stored.is_active,
        nodes=len(stored.preset.nodes),
        version=stored.version,
    )


def describe_nodes(preset: Preset | None) -> PresetNodes:
    """Describe the nodes of a preset; no preset has none."""
    return PresetNodes(nodes=() if preset is None else preset.nodes)


def describe_layout(layout: PresetLayout) -> LayoutInfo:
    """Describe the layout of a preset."""
    return LayoutInfo(title=make_layout_title(layout), recipe=layout.recipe, rows=tuple(layout.rows))


def make_layout_title(layout: PresetLayout) -> str:
    """Return the title of a preset, or that none is active."""
    if layout.preset is None:
        return f"No preset is active: the layout of {layout.recipe}"
    return layout.preset.title
