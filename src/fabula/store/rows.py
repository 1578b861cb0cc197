"""Rows as structs: the encoded name of a field (`field(name=…)`) is its column; a position has two columns."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from sqlalchemy import Row, Table

T = TypeVar("T", bound=Struct)


def read_struct(kind: type[T], row: Row[Any], **others: object) -> T:
    """Read a struct from a row; `others` are fields without a column, by their encoded names."""
    values = dict(zip(map(str, row._fields), row, strict=True))  # names of columns are not plain text
    for column in [name for name in values if name.endswith("_document")]:
        prefix, document = column.removesuffix("_document"), values[column]
        position = {"document": document, "offset": values[f"{prefix}_offset"] or 0}
        values[prefix] = None if document is None else position
    return msgspec.convert(values | others, kind, strict=False)


def make_row(table: Table, value: Struct) -> dict[str, Any]:
    """Make the row of a struct from those of its fields that the table has columns for."""
    row: dict[str, Any] = {}
    for name, field in msgspec.to_builtins(value).items():
        if name in table.c:
            row[name] = int(field) if isinstance(field, bool) else field
        elif f"{name}_document" in table.c:
            position = field or {"document": None, "offset": None}
            row |= {f"{name}_{part}": position[part] for part in ("document", "offset")}
    return row
