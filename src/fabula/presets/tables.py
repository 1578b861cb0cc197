"""The table of presets."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from sqlalchemy import Column, Text

from fabula.context.recipes import Node
from fabula.store.schema import (
    TableInfo,
    integer_column,
    json_column,
    project_table,
    text_column,
    timestamp_columns,
    version_column,
)

MAX_NODES = 1000  # of one preset

presets = project_table(
    "presets",
    TableInfo(area="presets", owner="project", item="id"),
    Column("id", Text, nullable=False),
    text_column("name"),
    json_column("nodes", info={"type": Annotated[list[Node], Meta(max_length=MAX_NODES)]}),
    integer_column("active"),
    *timestamp_columns(),
    version_column(),
)
