"""The table of lorebooks; a row holds the whole JSON of a book, with unknown fields."""

from __future__ import annotations

from typing import Any, Literal

from sqlalchemy import Column, Text

from fabula.store import schema

lorebooks = schema.project_table(
    "lorebooks",
    schema.TableInfo(area="lorebook", owner="project", item="id"),
    Column("id", Text, nullable=False),
    schema.text_column("name"),
    schema.text_column("format"),
    schema.text_column("rules", "exact", info={"type": Literal["exact", "fabula"]}),
    schema.json_column("book", "{}", info={"type": dict[str, Any]}),
    schema.integer_column("active", 1),
    *schema.timestamp_columns(),
    schema.version_column(),
)
