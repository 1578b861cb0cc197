"""The store's own tables: projects, the version of each owner, the change feed, and the steps that can be undone."""

from __future__ import annotations

from typing import Any, Literal

from sqlalchemy import BigInteger, Column, Integer, PrimaryKeyConstraint, String, Table

from fabula.core.errors import Code
from fabula.core.view import Language
from fabula.store.schema import (
    METADATA,
    TableInfo,
    integer_column,
    json_column,
    project_table,
    text_column,
    timestamp_columns,
    user_table,
    version_column,
)

projects = Table(
    "projects",
    METADATA,
    Column("project_id", String, primary_key=True),
    text_column("kind", "book", info={"type": Literal["book", "series"]}),  # the books of a series share its codex
    text_column("series_id", None),
    json_column("book_order", info={"type": list[str]}),  # of a series: the ids of its books, the first one first
    text_column("title"),
    text_column("language", "en", info={"type": Language}),
    text_column("identity"),
    json_column("direction", "{}"),
    *timestamp_columns(),
    version_column(),
    info={
        "table_info": TableInfo(
            area="project",
            owner="project",
            missing_code=Code.PROJECT_NOT_FOUND,
        )
    },
)

LOCAL_USER = "owner"  # the only user of a local store
PROJECT_NUMBERS = "projects"  # the owner of the last number that a project of the store was given

owner_versions = Table(
    "heads",
    METADATA,
    Column("owner", String, primary_key=True),  # project:ID, user:ID or PROJECT_NUMBERS
    Column("version", BigInteger, nullable=False),
    integer_column("number"),  # of a project in the lists of this store: given once, and to no other project
    text_column("slug"),  # of a project: no other one of the store has it, and it stays when the title changes
    text_column("latest"),  # changes that are no rows of the change feed yet (`latest_changes`)
    text_column("changed"),  # the time of the last change
)

changes = Table(
    "changes",
    METADATA,
    Column("owner", String, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("room", String, nullable=False),
    Column("item", String, nullable=False),
    text_column("at"),
    PrimaryKeyConstraint("owner", "version", "room", "item"),
    sqlite_with_rowid=False,  # else every change would be written twice, into the table and into its key
)


def _undo_columns() -> tuple[Column[Any], ...]:
    return (
        Column("number", Integer, nullable=False),
        json_column("label", "{}"),
        text_column("person"),  # whose rows the change may have touched beside those of the project
        json_column("rows", None, info={"any_length": True}),  # NULL for a change that was too large
        integer_column("size"),
        integer_column("undone"),  # 0: made, 1: undone, 2: made again
        text_column("made"),  # when the change was made, undone, or made again
    )


undo_steps = project_table(
    "undo_steps",
    TableInfo(area="undo", owner="project", item="number", in_saves=False, tracked=False),
    *_undo_columns(),
    key=("number",),
)

user_undo_steps = user_table(  # of changes that touch no project
    "user_undo_steps",
    TableInfo(area="undo", owner="user", item="number", in_saves=False, tracked=False),
    *_undo_columns(),
    key=("number",),
)
