"""The tables of memories, profiles and outcomes, and the conversion between rows and memories."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta
from sqlalchemy import Column, Float, Row, Text

from fabula.core.ids import current_timestamp
from fabula.core.story import Position
from fabula.memory.model import Decision, MemoryItem, MemoryKind, MemoryOrigin, MemoryState
from fabula.store.schema import (
    Fraction,
    TableInfo,
    integer_column,
    json_column,
    position_columns,
    project_table,
    text_column,
    timestamp_columns,
    user_table,
    version_column,
)

AREA = "memory"
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]


def _columns() -> list[Any]:
    return [
        Column("id", Text, nullable=False),
        text_column("kind", "preference", info={"type": MemoryKind}),
        text_column("text"),
        Column("confidence", Float, nullable=False, server_default="0.5", info={"type": Fraction}),
        json_column("evidence", info={"type": list[str]}),
        text_column("state", "confirmed", info={"type": MemoryState}),
        *position_columns("since"),
        *timestamp_columns(),
        version_column(),
        text_column("origin", "said", info={"type": MemoryOrigin}),
        integer_column("agreeing", info={"type": Count}),
        integer_column("against", info={"type": Count}),
        text_column("seen"),
    ]


memories = project_table(
    "memories",
    TableInfo(area=AREA, owner="project", item="id"),
    *_columns(),
)

user_memories = user_table(
    "user_memories",
    TableInfo(area=AREA, owner="user", item="id"),
    *_columns(),
)

profiles = user_table(
    "profiles",
    TableInfo(area="profile", owner="user"),
    text_column("text"),
    text_column("changed"),
    version_column(),
    key=(),
)

outcomes = project_table(
    "outcomes",
    TableInfo(area="outcomes", owner="project", item="id"),  # an area of its own, because no prompt depends on it
    Column("id", Text, nullable=False),
    text_column("skill"),
    text_column("offered"),
    text_column("fate", "accepted", info={"type": Decision}),
    text_column("became"),
    *position_columns("at"),
    json_column("recalled", info={"type": list[str]}),
    text_column("made"),
)


def make_row(memory: MemoryItem) -> dict[str, Any]:
    """Make the row of a memory, without its id and creation time."""
    since = memory.since
    return {
        "kind": MemoryKind(memory.kind).value,
        "text": memory.text,
        "confidence": float(memory.confidence),
        "evidence": list(memory.evidence),
        "state": MemoryState(memory.state).value,
        "since_document": None if since is None else since.document,
        "since_offset": None if since is None else since.offset,
        "origin": MemoryOrigin(memory.origin).value,
        "agreeing": memory.votes_for,
        "against": memory.votes_against,
        "seen": memory.last_vote_at,
        "changed": current_timestamp(),
    }


def make_memory_item(row: Row[Any]) -> MemoryItem:
    """Make a memory from its row."""
    return MemoryItem(
        id=row.id,
        text=row.text,
        kind=MemoryKind(row.kind),
        origin=MemoryOrigin(row.origin),
        confidence=row.confidence,
        evidence=tuple(row.evidence),
        state=MemoryState(row.state),
        since=read_position(row, "since"),
        votes_for=row.agreeing,
        votes_against=row.against,
        last_vote_at=row.seen,
        version=row.version,
        created_at=row.made,
    )


def read_position(row: Row[Any], prefix: str) -> Position | None:
    """Read a position in the story from a row; None if the row has none."""
    document = row._mapping[f"{prefix}_document"]
    return None if document is None else Position(document, row._mapping[f"{prefix}_offset"] or 0)
