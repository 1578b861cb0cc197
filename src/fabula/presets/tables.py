"""The presets' table."""

from __future__ import annotations

from sqlalchemy import Column, Text

from fabula.context.recipes import Node
from fabula.store.schema import About, number, packed, project_table, text, times, version

presets = project_table(
    "presets",
    About(room="presets", owner="project", item="id"),
    Column("id", Text, nullable=False),
    text("name"),
    packed("nodes", info={"holds": list[Node]}),
    number("active"),
    *times(),
    version(),
)
