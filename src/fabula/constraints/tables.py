"""The constraints' table."""

from __future__ import annotations

from sqlalchemy import Column, Text

from fabula.constraints.model import Check, Kind, Origin
from fabula.core.errors import Code
from fabula.store.schema import About, Percent, Words, number, packed, place, project_table, text, times, version

constraints = project_table(
    "constraints",
    About(
        room="constraints",
        owner="project",
        item="id",
        missing=Code.CONSTRAINT_NOT_FOUND,
        conflict=Code.CONSTRAINT_CONFLICT,
    ),
    Column("id", Text, nullable=False, info={"holds": Words}),
    text("text", info={"holds": Words}),
    text("kind", "style", info={"holds": Kind}),
    text("origin", "user", info={"holds": Origin}),
    number("priority", 50, info={"holds": Percent}),
    *place("since"),
    *place("until"),
    packed("check", None, info={"holds": Check}),  # what a program can hold a text against
    *times(),
    version(),
)
