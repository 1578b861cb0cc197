"""The constraints' table."""

from __future__ import annotations

from sqlalchemy import Column, Text

from fabula.core.errors import Code
from fabula.store.schema import About, number, place, project_table, text, times, version

constraints = project_table(
    "constraints",
    About(
        room="constraints",
        owner="project",
        item="id",
        missing=Code.CONSTRAINT_NOT_FOUND,
        conflict=Code.CONSTRAINT_CONFLICT,
    ),
    Column("id", Text, nullable=False),
    text("text"),
    text("kind", "style"),
    text("origin", "user"),
    number("priority", 50),
    *place("since"),
    *place("until"),
    *times(),
    version(),
)
