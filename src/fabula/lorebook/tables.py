"""The table of lorebooks; a row holds the whole JSON of a book, with unknown fields."""

from __future__ import annotations

from typing import Any, Literal

from sqlalchemy import Column, Text

from fabula.store.schema import (
    TableInfo,
    integer_column,
    json_column,
    project_table,
    text_column,
    timestamp_columns,
    version_column,
)

lorebooks = project_table(
    "lorebooks",
    TableInfo(area="lorebook", owner="project", item="id"),
    Column("id", Text, nullable=False),
    text_column("name"),
    text_column("format"),
    text_column("rules", "exact", info={"type": Literal["exact", "fabula"]}),
    json_column("book", "{}", info={"type": dict[str, Any]}),
    integer_column("active", 1),
    *timestamp_columns(),
    version_column(),
)
