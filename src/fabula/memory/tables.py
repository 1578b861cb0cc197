"""The tables of memories, profiles and outcomes."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, Float, Text

from fabula.memory.model import (
    MAX_MEMORIES,
    Confidence,
    Decision,
    MemoryItem,
    MemoryKind,
    MemoryOrigin,
    MemoryScope,
    MemoryState,
    VoteCount,
)
from fabula.store.rows import read_record
from fabula.store.schema import (
    SavedRow,
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


def _columns() -> list[Any]:
    return [
        Column("id", Text, nullable=False),
        text_column("kind", "preference", info={"type": MemoryKind}),
        text_column("text"),
        Column("confidence", Float, nullable=False, server_default="0.5", info={"type": Confidence}),
        json_column("evidence", info={"type": list[str]}),
        text_column("state", "confirmed", info={"type": MemoryState}),
        *position_columns("since"),
        *timestamp_columns(),
        version_column(),
        text_column("origin", "said", info={"type": MemoryOrigin}),
        integer_column("agreeing", info={"type": VoteCount}),
        integer_column("against", info={"type": VoteCount}),
        text_column("seen"),
    ]


def _check_memory(row: SavedRow) -> None:
    _check_row(row, MemoryScope.PROJECT)


def _check_user_memory(row: SavedRow) -> None:
    _check_row(row, MemoryScope.USER)


def _check_row(row: SavedRow, scope: MemoryScope) -> None:
    from fabula.memory.edits import check_memory  # which imports this module

    check_memory(read_record(MemoryItem, row), scope)


memories = project_table(
    "memories",
    TableInfo(area=AREA, owner="project", item="id", max_rows=MAX_MEMORIES, check_row=_check_memory),
    *_columns(),
)

user_memories = user_table(
    "user_memories",
    TableInfo(area=AREA, owner="user", item="id", max_rows=MAX_MEMORIES, check_row=_check_user_memory),
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
