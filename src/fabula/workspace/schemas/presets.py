"""Schemas of presets and of their layout (inj-1)."""

from __future__ import annotations

from fabula.context.recipes import Node, Preset
from fabula.core.messages import ENGLISH, Sentence, message
from fabula.presets.edits import StoredPreset
from fabula.presets.layout import LayoutRow
from fabula.workspace.presets import PresetLayout
from fabula.workspace.schemas.schema import Schema, describe


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
    nodes = len(stored.preset.nodes)
    return describe(PresetInfo, stored.preset, active=stored.is_active, nodes=nodes, version=stored.version)


def describe_nodes(preset: Preset | None) -> PresetNodes:
    """Describe the nodes of a preset; no preset has none."""
    return PresetNodes(nodes=() if preset is None else preset.nodes)


def describe_layout(layout: PresetLayout, language: str = ENGLISH) -> LayoutInfo:
    """Describe the layout of a preset."""
    return describe(LayoutInfo, layout, language, title=make_layout_title(layout))


def make_layout_title(layout: PresetLayout) -> Sentence | str:
    """Return the title of a preset, or that none is active."""
    if layout.preset is None:
        return message("No preset is active: the layout of {recipe}", recipe=layout.recipe)
    return layout.preset.title
