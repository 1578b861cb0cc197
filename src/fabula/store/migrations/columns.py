"""Columns and tables as migrations declare them.

A column is described by its default (`kind="book"`, `version=1`) or, where it has none, by its type (`id=str`,
`known_to=str | None`). Migrations tell how tables were made at their time: what is here does not change with the live
tables, and uses none of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType
from typing import Any, get_args

import sqlalchemy as sa
from alembic import op


class Name(str):
    """The type of a column of owners' ids and names in the change feed."""


class Big(int):
    """The type, or the default, of a column of large integers."""


EDITED: Mapping[str, Any] = {"made": "", "changed": "", "version": 1}
SINCE: Mapping[str, Any] = {"since_document": str | None, "since_offset": int | None}
UNTIL: Mapping[str, Any] = {"until_document": str | None, "until_offset": int | None}

_TYPES = {str: sa.Text, Name: sa.String, int: sa.Integer, Big: sa.BigInteger, float: sa.Float}


def columns(**described: Any) -> list[sa.Column[Any]]:
    """Make columns from their defaults or types, in order."""
    return [_make_column(name, description) for name, description in described.items()]


def add_columns(table: str, **described: Any) -> None:
    """Add columns to a table."""
    for column in columns(**described):
        op.add_column(table, column)


def create_table(
    name: str,
    parts: list[Any],
    *,
    key: tuple[str, ...] = ("id",),
    owner: str | None = "project_id",
    references: Mapping[str, str] | None = None,
    unique: tuple[str, ...] = (),
    **options: Any,
) -> None:
    """Create a table whose key begins with its owner. Columns of the key that are not described hold text.

    Rows of a project are deleted with it, and with the rows that they name in `references`. The `options` are those
    of a kind of database.
    """
    described = {part.name for part in parts}
    parts = [*columns(**{name: str for name in key if name not in described}), *parts]
    if owner is not None:
        parts = [*columns(**{owner: Name}), *parts]
        key = (owner, *key)
    for column, table in (references or {}).items():
        parts.append(_foreign_key(name, ["project_id", column], [f"{table}.project_id", f"{table}.id"]))
    if unique:
        parts.append(sa.UniqueConstraint("project_id", *unique, name=f"uq_{name}_project_id_{'_'.join(unique)}"))
    if owner == "project_id" and name != "projects":
        parts.append(_foreign_key(name, ["project_id"], ["projects.project_id"]))
    op.create_table(name, *parts, sa.PrimaryKeyConstraint(*key, name=f"pk_{name}"), **options)


def _make_column(name: str, described: Any) -> sa.Column[Any]:
    nullable = isinstance(described, UnionType)
    has_default = not nullable and not isinstance(described, type)
    kind = get_args(described)[0] if nullable else type(described) if has_default else described
    return sa.Column(name, _TYPES[kind](), nullable=nullable, server_default=str(described) if has_default else None)


def _foreign_key(name: str, own: list[str], to: list[str]) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(own, to, ondelete="CASCADE", name=f"fk_{name}_{'_'.join(own)}")
