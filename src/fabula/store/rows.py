"""Rows as structs: one function in place of a mapping by hand in every package."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from sqlalchemy import Row

T = TypeVar("T")


def from_row(kind: type[T], row: Row[Any], /, **others: object) -> T:
    """Make a struct or dataclass of a row: each field is in `others`, or the column of that name.

    Other columns are ignored. Values get the type of their field: an enum, a tuple or set of a JSON list, a bool of 0
    or 1.
    """
    columns = {str(name): value for name, value in row._mapping.items()}  # the keys are a kind of text of SQLAlchemy's
    return msgspec.convert(columns | others, kind, strict=False)
