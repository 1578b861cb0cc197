"""What a table of this house looks like.

Rooms declare their tables here, and each says whose rows it holds: a project's or a person's. The
owner's id is the first column of every key, and a transaction is bound to its owners, so no query
can be written that reaches another's rows. A table also says to which room and item a change of it
belongs; that is how every write leaves its line in the change feed without anybody thinking of it.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from sqlalchemy import Column, ForeignKeyConstraint, Integer, MetaData, PrimaryKeyConstraint, String, Table, Text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

import fabula
from fabula.core.errors import Code

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

OwnerKind = Literal["project", "user"]
Words = Annotated[str, Meta(pattern=r"\S")]
Percent = Annotated[int, Meta(ge=0, le=100)]
Fraction = Annotated[float, Meta(ge=0, le=1)]
Info = dict[str, Any]  # what a column says to a save: `file`, `holds`, `above` (see `save_tables`)


class About(Struct, frozen=True, kw_only=True):
    """What the store knows about a table beyond its columns."""

    room: str
    owner: OwnerKind
    item: str | None = None  # the column that tells which item of the room a row belongs to
    saved: bool = True  # part of a save
    told: bool = True  # a change moves the owner's version and stands in the feed
    crossed: bool = False  # who works for all owners may look through their rows at once (`across`)
    missing: Code = Code.STORE_NOT_FOUND
    conflict: Code = Code.STORE_CONFLICT

    @property
    def owner_column(self) -> str:
        """The column that says whose row it is."""
        return f"{self.owner}_id"


class Json(TypeDecorator[Any]):
    """Any JSON value, kept as readable text on every engine."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """To text."""
        return None if value is None else msgspec.json.encode(value).decode()

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """From text."""
        return None if value is None else msgspec.json.decode(value)


def project_table(name: str, about: About, *parts: Any, key: tuple[str, ...] = ("id",)) -> Table:
    """A table of a project's rows; they go when the project goes."""
    return Table(
        name,
        METADATA,
        Column("project_id", String, nullable=False),
        *parts,
        PrimaryKeyConstraint("project_id", *key),
        ForeignKeyConstraint(["project_id"], ["projects.project_id"], ondelete="CASCADE"),
        info={"about": about},
    )


def user_table(name: str, about: About, *parts: Any, key: tuple[str, ...] = ("id",)) -> Table:
    """A table of a person's rows."""
    return Table(
        name,
        METADATA,
        Column("user_id", String, nullable=False),
        *parts,
        PrimaryKeyConstraint("user_id", *key),
        info={"about": about},
    )


@cache
def all_tables() -> tuple[Table, ...]:
    """The tables of every room, parents before children, whoever was imported so far."""
    for module in iter_modules(fabula.__path__, "fabula."):
        if module.ispkg and find_spec(f"{module.name}.tables") is not None:
            import_module(f"{module.name}.tables")
    return tuple(METADATA.sorted_tables)


def about(table: Table) -> About:
    """What a table said about itself."""
    found = table.info.get("about")
    if not isinstance(found, About):
        raise TypeError(f"the table {table.name} does not say whose rows it holds")
    return found


def text(name: str, default: str | None = "", *, info: Info | None = None) -> Column[str]:
    """A column of text; None as default makes it one that may be empty."""
    return Column(name, Text, nullable=default is None, server_default=default, info=info)


def number(name: str, default: int | None = 0, *, info: Info | None = None) -> Column[int]:
    """A column of whole numbers."""
    said = None if default is None else str(default)
    return Column(name, Integer, nullable=default is None, server_default=said, info=info)


def packed(name: str, default: str | None = "[]", *, info: Info | None = None) -> Column[Any]:
    """A column of JSON."""
    return Column(name, Json, nullable=default is None, server_default=default, info=info)


def version() -> Column[int]:
    """The version by which a stale edit is noticed."""
    return Column("version", Integer, nullable=False, server_default="1")


def times() -> tuple[Column[str], Column[str]]:
    """When a row was made and last changed."""
    return text("made"), text("changed")


def place(prefix: str) -> tuple[Column[str], Column[int]]:
    """A position in the story. No foreign key: a mark whose document is gone is never reached, which is safe."""
    return Column(f"{prefix}_document", Text), Column(f"{prefix}_offset", Integer)


def refers(columns: list[str], table: str, to: list[str] | None = None, *, ondelete: str = "CASCADE") -> Any:
    """A key of another table of the same project."""
    return ForeignKeyConstraint(
        ["project_id", *columns], [f"{table}.{name}" for name in ("project_id", *(to or ["id"]))], ondelete=ondelete
    )
