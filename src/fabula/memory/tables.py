"""Memory's tables: what a project remembers, what is remembered of a person, their profile, and outcomes."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta
from sqlalchemy import Column, Float, Text

from fabula.memory.model import Fate, Kind, Origin, State
from fabula.store.schema import About, Fraction, number, packed, place, project_table, text, times, user_table, version

ROOM = "memory"
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]


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
        text("origin", "said", info={"holds": Origin}),
        number("agreeing", info={"holds": Count}),
        number("against", info={"holds": Count}),
        text("seen"),
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

outcomes = project_table(
    "outcomes",
    About(room="outcomes", owner="project", item="id"),  # a room of its own: no prompt depends on them
    Column("id", Text, nullable=False),
    text("skill"),
    text("offered"),
    text("fate", "accepted", info={"holds": Fate}),
    text("became"),
    *place("at"),
    packed("recalled", info={"holds": list[str]}),
    text("made"),
)
