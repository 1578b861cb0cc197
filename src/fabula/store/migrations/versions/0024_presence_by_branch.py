"""Presence is part of the tree of messages: who came or left behind which message, and where branches begin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from alembic import op

from fabula.store.migrations.columns import add_columns, columns, create_table

revision = "0024"
down_revision = "0023"

_BATCH = 1000  # rows
_NAMES = ("project_id", "conversation_id", "participant_id", "since_number", "after_number", "leaves", "joined")


def upgrade() -> None:
    """Make changes of the ranges; everybody has heard what they had heard, and is present where they were.

    Presence was by number until now, so the messages that there are count as added one after the other.
    """
    add_columns("conversations", after_number=int | None, branches=0)
    add_columns("messages", after_number=int | None)
    is_branch = sa.text("after_number IS NOT NULL")
    op.create_index(
        "ix_messages_branches",
        "messages",
        ["project_id", "conversation_id", "number", "after_number"],
        sqlite_where=is_branch,
        postgresql_where=is_branch,
    )
    connection = op.get_bind()
    order = "project_id, conversation_id, participant_id, since_number"
    ranges = connection.execute(sa.text(f"SELECT {order}, until_number, joined FROM presence ORDER BY {order}")).all()
    op.drop_table("presence")
    create_table(
        "presence",
        columns(since_number=0, after_number=-1, leaves=0, joined=""),
        key=("conversation_id", "participant_id", "since_number", "after_number"),
        references={"conversation_id": "conversations"},
    )
    op.create_index("ix_presence_participant", "presence", ["project_id", "participant_id", "conversation_id"])
    rows = [dict(zip(_NAMES, row, strict=True)) for row in _list_changes(ranges)]
    rows += [dict(zip(_NAMES, row, strict=True)) for row in _place_ends(connection, ranges)]
    table = sa.table("presence", *map(sa.column, _NAMES))
    for start in range(0, len(rows), _BATCH):
        connection.execute(sa.insert(table), rows[start : start + _BATCH])
    _drop_undo_steps()


def _list_changes(ranges: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """Who came and left, one participant of a conversation after the other; ranges that touch are one."""
    for owner, own in groupby(ranges, key=lambda row: tuple(row[:3])):
        merged: list[list[Any]] = []
        for since, until, joined in (row[3:] for row in own):
            if merged and (merged[-1][1] is None or since <= merged[-1][1]):
                last = merged[-1][1]
                merged[-1][1] = None if last is None or until is None else max(last, until)
            elif until is None or since < until:
                merged.append([since, until, joined])
        for since, until, joined in merged:
            yield (*owner, since, since - 1, 0, joined)
            if until is not None:
                yield (*owner, until, until - 1, 1, joined)


def _place_ends(connection: sa.Connection, ranges: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """Where a conversation goes on behind another message than the one added last: who came or left behind that."""
    found = connection.execute(
        sa.text(
            "SELECT c.project_id, c.id, c.said, m.number FROM conversations c LEFT JOIN messages m "
            "ON m.project_id = c.project_id AND m.id = c.leaf_id "
            "WHERE c.said > 0 AND coalesce(m.number, -1) <> c.said - 1"
        )
    ).all()
    ends = {(project_id, ident): (said, -1 if number is None else number) for project_id, ident, said, number in found}
    for (project_id, ident), (_, number) in ends.items():
        values = {"number": number, "project": project_id, "id": ident}
        connection.execute(
            sa.text("UPDATE conversations SET after_number = :number WHERE project_id = :project AND id = :id"), values
        )
    for owner, group in groupby(ranges, key=lambda row: tuple(row[:3])):
        if owner[:2] not in ends:
            continue
        own = list(group)
        said, number = ends[owner[:2]]
        first = max(number, 0)  # who heard the message is there where it goes on
        there = any(row.since_number <= first and _is_after(row.until_number, first) for row in own)
        now = any(row.until_number is None for row in own)
        if there != now:
            yield (*owner, said, number, int(not now), own[-1].joined)


def _is_after(until: int | None, number: int) -> bool:
    return until is None or number < until


def _drop_undo_steps() -> None:
    """Forget steps that name rows of presence as they were, and those before them, which can only be undone later."""
    op.execute(
        "DELETE FROM undo_steps WHERE number <= (SELECT max(other.number) FROM undo_steps AS other "
        "WHERE other.project_id = undo_steps.project_id AND other.person = undo_steps.person "
        "AND other.rows LIKE '%\"presence\"%')"
    )
