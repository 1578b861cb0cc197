"""Table formats: which tables enter a save, and what a row of each looks like in it (sav-1).

Everything comes from the tables themselves: owner, keys, references, types, and whether they are saved. A column can
add to it: with `info={"file": "md"}` its text goes to a file of its own, `info={"type": SomeType}` names a type that
every value must fit, `info={"any_length": True}` lets in a text of any length, and `info={"parent": True}` marks a
column that names a row of the same table without a foreign key, so that cycles are found.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct
from msgspec.structs import replace
from sqlalchemy import BigInteger, Column, Float, ForeignKeyConstraint, Integer, Table, UniqueConstraint

from fabula.store.save.secrets import holds_names_and_values, is_secret_value
from fabula.store.schema import (
    MAX_SHORT_TEXT,
    Json,
    OwnerKind,
    TableInfo,
    all_tables,
    has_bounded_texts,
    is_short,
    max_characters,
    table_info,
)

USER_FOLDER = "person/"  # the folder of the user's tables
SERIES_FOLDER = "series/"  # the folder of what the series of a book shares with it
_SHARED_AREAS = ("project", "codex")

_INT32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
_INT64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]

_SHORT = Annotated[str, Meta(max_length=MAX_SHORT_TEXT)]

_NOT_NULL = list[Any] | dict[str, Any] | str | float | int | bool


class TextFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The name of the file that holds the text of a column."""

    file: str


class TableReference(Struct, frozen=True):
    """Columns that refer to a row of another table."""

    columns: tuple[str, ...]
    table: str
    to: tuple[str, ...]


class TableFormat(Struct, frozen=True, kw_only=True):
    """How the rows of one table are saved; the owner's column is left out everywhere."""

    table: Table
    folder: str = ""
    columns: tuple[str, ...]
    unique: tuple[tuple[str, ...], ...]  # the primary key first
    references: tuple[TableReference, ...]
    parent: tuple[str, ...]  # the columns that name a row of the same table: a tree; empty where there is none
    parent_required: bool  # by a foreign key; otherwise that row may be missing, but there are no cycles
    file_columns: dict[str, str]  # columns with files of their own, and the file extension
    float_columns: tuple[str, ...]
    defaults: dict[str, Any]  # of the key columns
    null_columns: frozenset[str]  # JSON columns whose default is `null`: the database sets it, an insert cannot
    json_columns: tuple[str, ...]  # whose texts are of bounded length
    max_characters: dict[str, int]  # that the services let into each text column with a limit
    holds_settings: bool
    row_type: type[Struct]

    @property
    def owner(self) -> OwnerKind:
        """The kind of owner: a project or a user."""
        return table_info(self.table).owner

    @property
    def name(self) -> str:
        """The name of the table in a save; a user's tables and those of a series are in folders of their own."""
        return f"{self.folder}{self.table.name}"

    def is_portable(self, record: Mapping[str, Any]) -> bool:
        """Whether a row may be in a save: no key, and nothing that belongs to a machine or a person alone."""
        may_travel = table_info(self.table).is_portable
        if may_travel is not None and not may_travel(record):
            return False
        return not (self.holds_settings and is_secret_value(record.get("value")))

    @property
    def key(self) -> tuple[str, ...]:
        """The primary key without the owner."""
        return self.unique[0]


@cache
def table_formats() -> tuple[TableFormat, ...]:
    """The formats of all tables that are saved, parents before children."""
    return tuple(make_table_format(table) for table in all_tables() if _is_saved(table))


@cache
def series_formats() -> tuple[TableFormat, ...]:
    """The formats of the tables that the series of a book shares with it: its row, and its codex."""
    return tuple(
        replace(table_format, folder=SERIES_FOLDER)
        for table_format in table_formats()
        if table_format.owner == "project" and table_info(table_format.table).area in _SHARED_AREAS
    )


def make_table_format(table: Table) -> TableFormat:
    """Make the format of one table."""
    owner = table_info(table).owner_column
    columns = [column for column in table.columns if column.name != owner]
    references = [
        TableReference(
            tuple(str(name) for name in foreign_key.column_keys if name != owner),
            str(foreign_key.referred_table.name),
            tuple(str(part.column.name) for part in foreign_key.elements if part.column.name != owner),
        )
        for foreign_key in table.constraints
        if isinstance(foreign_key, ForeignKeyConstraint)
    ]
    parent = next((link.columns for link in references if link.table == table.name), ())
    uniques = [part.columns.keys() for part in table.constraints if isinstance(part, UniqueConstraint)]
    keys = [table.primary_key.columns.keys(), *sorted(uniques)]
    return TableFormat(
        table=table,
        folder=USER_FOLDER if table_info(table).owner == "user" else "",
        columns=tuple(str(column.name) for column in columns),
        unique=tuple(tuple(str(name) for name in key if name != owner) for key in keys),
        references=tuple(link for link in references if link.columns and link.table != table.name),
        parent=parent or tuple(str(column.name) for column in columns if column.info.get("parent")),
        parent_required=bool(parent),
        file_columns={str(column.name): column.info["file"] for column in columns if "file" in column.info},
        float_columns=tuple(column.name for column in columns if isinstance(column.type, Float)),
        defaults={column.name: _default_value(column) for column in columns if any(column.name in key for key in keys)},
        null_columns=frozenset(column.name for column in columns if _defaults_to_null(column)),
        json_columns=tuple(str(column.name) for column in columns if has_bounded_texts(column)),
        max_characters={str(column.name): most for column in columns if (most := max_characters(column)) is not None},
        holds_settings=holds_names_and_values(table),
        row_type=msgspec.defstruct(
            str(table.name), [_field(column) for column in columns], kw_only=True, forbid_unknown_fields=True
        ),
    )


def _is_saved(table: Table) -> bool:
    info = table.info.get("table_info")
    return isinstance(info, TableInfo) and info.in_saves


def _defaults_to_null(column: Column[Any]) -> bool:
    return isinstance(column.type, Json) and not column.nullable and _server_default(column) == "null"


def _server_default(column: Column[Any]) -> object:
    return getattr(column.server_default, "arg", None)


def _default_value(column: Column[Any]) -> Any:
    default = _server_default(column)
    return int(default) if isinstance(column.type, Integer) and isinstance(default, str) else default


def _field(column: Column[Any]) -> tuple[str, Any, Any]:
    value_type = _value_type(column)
    if value_type is not Any and column.nullable:
        value_type = value_type | None
    required = not column.nullable and column.server_default is None
    return (str(column.name), value_type, msgspec.NODEFAULT if required else UNSET)


def _value_type(column: Column[Any]) -> Any:
    if "file" in column.info:
        return TextFile
    if "type" in column.info:
        return column.info["type"]
    if isinstance(column.type, Json):
        return Any if column.nullable or _defaults_to_null(column) else _NOT_NULL
    if isinstance(column.type, Float):
        return float
    if isinstance(column.type, BigInteger):
        return _INT64
    if isinstance(column.type, Integer):
        return _INT32
    return _SHORT if is_short(column) else str
