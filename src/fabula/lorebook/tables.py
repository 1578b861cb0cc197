"""The lorebooks' table: a book is kept whole, as it came, with every field known or not."""

from __future__ import annotations

from typing import Any, Literal

from sqlalchemy import Column, Text

from fabula.store.schema import About, number, packed, project_table, text, times, version

lorebooks = project_table(
    "lorebooks",
    About(room="lorebook", owner="project", item="id"),
    Column("id", Text, nullable=False),
    text("name"),
    text("format"),
    text("rules", "exact", info={"holds": Literal["exact", "fabula"]}),  # exact or fabula
    packed("book", "{}", info={"holds": dict[str, Any]}),
    number("active", 1),
    *times(),
    version(),
)
