"""Memory's tables: what a project remembers, what is remembered of a person, and the person's profile."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, Float, Text

from fabula.memory.model import Kind, State
from fabula.store.schema import About, Fraction, packed, place, project_table, text, times, user_table, version

ROOM = "memory"


def _columns() -> list[Any]:
    return [
        Column("id", Text, nullable=False),
        text("kind", "preference", info={"holds": Kind}),
        text("text"),
        Column("confidence", Float, nullable=False, server_default="0.5", info={"holds": Fraction}),
        packed("evidence", info={"holds": list[str]}),
        text("state", "confirmed", info={"holds": State}),
        *place("since"),
        *times(),
        version(),
    ]


memories = project_table(
    "memories",
    About(room=ROOM, owner="project", item="id"),
    *_columns(),
)

user_memories = user_table(
    "user_memories",
    About(room=ROOM, owner="user", item="id"),
    *_columns(),
)

profiles = user_table(
    "profiles",
    About(room="profile", owner="user"),
    text("text"),
    text("changed"),
    version(),
    key=(),
)
