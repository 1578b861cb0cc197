"""Rows as structs: the encoded name of a field (`field(name=…)`) is its column; a position has two columns."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from sqlalchemy import Row, Table

from fabula.core.story import Position

T = TypeVar("T")


def read_struct(kind: type[T], row: Row[Any], **others: object) -> T:
    """Read a struct from a row; `others` are fields without a column, by their encoded names."""
    return read_record(kind, dict(zip(_plain_names(row._fields), row, strict=True)), **others)


def read_record(kind: type[T], record: Mapping[str, Any], **others: object) -> T:
    """Read a struct from the values of a row by column, as a save has them; a missing one has the struct's default."""
    values = dict(record)
    for column in [name for name in values if name.endswith("_document")]:
        prefix, document = column.removesuffix("_document"), values[column]
        position = {"document": document, "offset": values.get(f"{prefix}_offset") or 0}
        values[prefix] = None if document is None else position
    return msgspec.convert(values | others, kind, strict=False)


def make_row(table: Table, value: Struct) -> dict[str, Any]:
    """Make the row of a struct from those of its fields that the table has columns for."""
    row: dict[str, Any] = {}
    columns = _column_names(table)
    for name, field in msgspec.to_builtins(value).items():
        if name in columns:
            row[name] = int(field) if field is True or field is False else field
        elif f"{name}_document" in columns:
            position = field or {"document": None, "offset": None}
            row |= {f"{name}_{part}": position[part] for part in ("document", "offset")}
    return row


def position_values(prefix: str, position: Position | None) -> dict[str, Any]:
    """The values of a position's columns."""
    document, offset = (None, None) if position is None else (position.document, position.offset)
    return {f"{prefix}_document": document, f"{prefix}_offset": offset}


def position_from_row(row: Row[Any], prefix: str) -> Position | None:
    """The position in a row's columns."""
    document, offset = row._mapping[f"{prefix}_document"], row._mapping[f"{prefix}_offset"]
    return None if document is None else Position(document, offset or 0)


@cache
def _column_names(table: Table) -> frozenset[str]:
    return frozenset(str(column.name) for column in table.c)


@cache
def _plain_names(fields: tuple[str, ...]) -> tuple[str, ...]:
    """The names of columns as plain strings: msgspec takes no subclass of `str` for a key."""
    return tuple(map(str, fields))
