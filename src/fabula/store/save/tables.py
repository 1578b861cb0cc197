"""Which tables enter a save, and what a row of each looks like in it.

Everything is read off the tables themselves: whose rows they hold, whether those are saved, keys,
references, types. A column may say more: `info={"file": "md"}` keeps its text in a file of its own,
`info={"holds": Kind}` names a type that every value has to fit, and `info={"above": True}` says that it
names a row of the same table, as a key would, so that nobody may stand above himself.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct
from sqlalchemy import BigInteger, Column, Float, ForeignKeyConstraint, Integer, Table, UniqueConstraint

from fabula.store.save.secrets import pairs
from fabula.store.schema import About, Json, OwnerKind, about, all_tables

PERSON = "person/"  # the folder of what belongs to the person rather than to the project

_SMALL = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
_LARGE = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]

_SOMETHING = list[Any] | dict[str, Any] | str | float | int | bool


class Beside(Struct, frozen=True, forbid_unknown_fields=True):
    """A text that is kept in a file of its own."""

    file: str


class Reference(Struct, frozen=True):
    """Columns that name a row of a table."""

    columns: tuple[str, ...]
    table: str
    to: tuple[str, ...]


class Shape(Struct, frozen=True, kw_only=True):
    """What a save knows of one table; the owner's column is nowhere among the columns."""

    table: Table
    columns: tuple[str, ...]
    known: frozenset[str]  # the same
    unique: tuple[tuple[str, ...], ...]  # no two rows agree in all of these; the key is the first
    references: tuple[Reference, ...]
    parent: Reference | None  # to another row of the same table: a tree
    above: str | None  # the same where no key says so: there may be gaps, but no circles
    files: dict[str, str]  # columns kept in files of their own, and the ending of those
    fractions: tuple[str, ...]
    defaults: dict[str, Any]  # of the columns in keys
    empty: frozenset[str]  # columns where nothing is the word `null`, which only the table itself can put there
    pairs: bool
    row: type[Struct]

    @property
    def owner(self) -> OwnerKind:
        """Whose rows: a project's or a person's."""
        return about(self.table).owner

    @property
    def name(self) -> str:
        """What the table is called in a save: a person's tables are in a folder of their own."""
        return f"{PERSON if self.owner == 'user' else ''}{self.table.name}"

    @property
    def key(self) -> tuple[str, ...]:
        """What a row is known by among its owner's."""
        return self.unique[0]


@cache
def shapes() -> tuple[Shape, ...]:
    """The shape of every table that is saved, parents before children."""
    return tuple(shape(table) for table in all_tables() if _saved(table))


def shape(table: Table) -> Shape:
    """What a table looks like in a save."""
    owner = about(table).owner_column
    columns = [column for column in table.columns if column.name != owner]
    links = [
        Reference(
            tuple(str(name) for name in link.column_keys if name != owner),
            str(link.referred_table.name),
            tuple(str(part.column.name) for part in link.elements if part.column.name != owner),
        )
        for link in table.constraints
        if isinstance(link, ForeignKeyConstraint)
    ]
    uniques = [part.columns.keys() for part in table.constraints if isinstance(part, UniqueConstraint)]
    keys = [table.primary_key.columns.keys(), *sorted(uniques)]
    return Shape(
        table=table,
        columns=tuple(str(column.name) for column in columns),
        known=frozenset(str(column.name) for column in columns),
        unique=tuple(tuple(str(name) for name in key if name != owner) for key in keys),
        references=tuple(link for link in links if link.columns and link.table != table.name),
        parent=next((link for link in links if link.table == table.name), None),
        above=next((str(column.name) for column in columns if column.info.get("above")), None),
        files={str(column.name): column.info["file"] for column in columns if "file" in column.info},
        fractions=tuple(column.name for column in columns if isinstance(column.type, Float)),
        defaults={column.name: _value(column) for column in columns if any(column.name in key for key in keys)},
        empty=frozenset(column.name for column in columns if _empty(column)),
        pairs=pairs(table),
        row=msgspec.defstruct(
            str(table.name), [_field(column) for column in columns], kw_only=True, forbid_unknown_fields=True
        ),
    )


def _saved(table: Table) -> bool:
    known = table.info.get("about")
    return isinstance(known, About) and known.saved


def _empty(column: Column[Any]) -> bool:
    return isinstance(column.type, Json) and not column.nullable and _default(column) == "null"


def _default(column: Column[Any]) -> object:
    return getattr(column.server_default, "arg", None)


def _value(column: Column[Any]) -> Any:
    default = _default(column)
    return int(default) if isinstance(column.type, Integer) and isinstance(default, str) else default


def _field(column: Column[Any]) -> tuple[str, Any, Any]:
    kind = _type(column)
    if kind is not Any and column.nullable:
        kind = kind | None
    needed = not column.nullable and column.server_default is None
    return (str(column.name), kind, msgspec.NODEFAULT if needed else UNSET)


def _type(column: Column[Any]) -> Any:
    if "file" in column.info:
        return Beside
    if "holds" in column.info:
        return column.info["holds"]
    if isinstance(column.type, Json):
        return Any if column.nullable or _empty(column) else _SOMETHING
    if isinstance(column.type, Float):
        return float
    if isinstance(column.type, BigInteger):
        return _LARGE
    return _SMALL if isinstance(column.type, Integer) else str
