"""Building blocks for tables, and what the store knows about each table.

Every package declares its tables with the functions here. A table names its owner, a project or a user. The owner's
id is the first column of every key, and a transaction belongs to its owners, so no query can reach the rows of
another owner. A table also names the area and the item of a change, so that every write is recorded in the change
feed without further code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct
from sqlalchemy import (
    Column,
    ColumnElement,
    ForeignKeyConstraint,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    tuple_,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

from fabula.core.errors import Code

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

T = TypeVar("T")
OwnerKind = Literal["project", "user"]
NonBlank = Annotated[str, Meta(pattern=r"\S")]
Percent = Annotated[int, Meta(ge=0, le=100)]
Fraction = Annotated[float, Meta(ge=0, le=1)]
ColumnInfo = dict[
    str, Any
]  # for saves: `file`, `type`, `parent`, `any_length` (see `save.tables`); for undo: `refers_to`
MAX_SHORT_TEXT = 1_000  # characters of ids, names and titles
MAX_LONG_TEXT = 1_000_000  # characters of every other text that a prompt may hold
MAX_FILE_TEXT = 5_000_000  # characters of a document, which has a file of its own in a save
_SHORT_COLUMNS = frozenset(
    {"title", "name", "type", "kind", "status", "pov", "model", "label", "cause", "mode", "speaker"}
)
SavedRow = Mapping[str, Any]  # without the owner's id; a column with its default may be missing


class GroupLimit(Struct, frozen=True, kw_only=True):
    """How many things the rows of one group may name, such as the participants of a conversation."""

    group: Callable[[SavedRow], Any]  # of a row
    names: Callable[[SavedRow], Iterable[Any]]  # what a row names
    most: int


class TableInfo(Struct, frozen=True, kw_only=True):
    """What the store knows about a table beyond its columns."""

    area: str
    owner: OwnerKind
    item: str | None = None  # the column that names the item of the area a row belongs to
    in_saves: bool = True
    is_portable: Callable[[SavedRow], bool] | None = None  # whether a row may enter a save or come out of one
    max_rows: int | None = None  # that the services allow one owner
    check_row: Callable[[SavedRow], None] | None = None  # what the services refuse, for rows that come from a file
    max_each: GroupLimit | None = None  # that the services allow one thing
    tracked: bool = True  # a change raises the owner's version and is recorded in the change feed
    derived: tuple[str, tuple[str, ...]] | None = None  # a column, and its values in rows that a program made
    across_projects: bool = False  # a worker may query the rows of all owners (`all_projects`)
    missing_code: Code = Code.STORE_NOT_FOUND
    conflict_code: Code = Code.STORE_CONFLICT

    @property
    def owner_column(self) -> str:
        """The column with the owner's id."""
        return f"{self.owner}_id"


class Json(TypeDecorator[Any]):
    """A column type: any JSON value, stored as readable text on every engine."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Encode a value as JSON text."""
        return encode_json(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """Decode JSON text."""
        return decode_json(value)


def encode_json(value: Any) -> str | None:
    """The text of a value in a column of JSON."""
    return None if value is None else msgspec.json.encode(value).decode()


def decode_json(text: str | None) -> Any:
    """The value of a text in a column of JSON."""
    return None if text is None else msgspec.json.decode(text)


def is_short(column: Column[Any]) -> bool:
    """Whether a text column holds ids, names or titles, which are of bounded length."""
    is_text = not isinstance(column.type, Json) and "file" not in column.info
    return is_text and (column.primary_key or str(column.name) in _SHORT_COLUMNS)


def max_characters(column: Column[Any]) -> int | None:
    """How many characters the services let into a text column; None for JSON, and for texts of any length."""
    if not isinstance(column.type, Text) or "any_length" in column.info:
        return None
    if is_short(column):
        return MAX_SHORT_TEXT
    if "file" in column.info:
        return MAX_FILE_TEXT
    return MAX_LONG_TEXT if table_info(column.table).in_saves else None


def has_bounded_texts(column: Column[Any]) -> bool:
    """Whether a column holds JSON whose texts may stand in a prompt."""
    return isinstance(column.type, Json) and "any_length" not in column.info


@cache
def list_bounded_columns(table: Table) -> frozenset[str]:
    """The names of the columns of JSON whose texts may stand in a prompt."""
    return frozenset(str(column.name) for column in table.c if has_bounded_texts(column))


def find_long_text(value: object, most: int) -> str | None:
    """The first text inside a JSON value that has more characters than allowed."""
    values = [value]
    for part in values:
        if isinstance(part, str):
            if len(part) > most:
                return part
        elif isinstance(part, Mapping):
            values += [*part, *part.values()]
        elif isinstance(part, list | tuple):
            values += part
    return None


def project_table(name: str, info: TableInfo, *parts: Any, key: tuple[str, ...] = ("id",)) -> Table:
    """Declare a table of a project's rows; they are deleted with the project."""
    return Table(
        name,
        METADATA,
        Column("project_id", String, nullable=False),
        *parts,
        PrimaryKeyConstraint("project_id", *key),
        ForeignKeyConstraint(["project_id"], ["projects.project_id"], ondelete="CASCADE"),
        info={"table_info": info},
    )


def user_table(name: str, info: TableInfo, *parts: Any, key: tuple[str, ...] = ("id",)) -> Table:
    """Declare a table of a user's rows."""
    return Table(
        name,
        METADATA,
        Column("user_id", String, nullable=False),
        *parts,
        PrimaryKeyConstraint("user_id", *key),
        info={"table_info": info},
    )


@cache
def all_tables() -> tuple[Table, ...]:
    """The tables of all packages, parents before children; packages that were not imported yet are imported."""
    for module in iter_modules(import_module("fabula").__path__, "fabula."):
        if module.ispkg and find_spec(f"{module.name}.tables") is not None:
            import_module(f"{module.name}.tables")
    return tuple(METADATA.sorted_tables)


@cache
def table_info(table: Table) -> TableInfo:
    """The `TableInfo` that a table was declared with."""
    info = table.info.get("table_info")
    if not isinstance(info, TableInfo):
        raise TypeError(f"the table {table.name} was declared without a TableInfo")
    return info


def key_columns(table: Table) -> tuple[Column[Any], ...]:
    """The columns of a table's key, without the owner's."""
    return tuple(column for column in table.primary_key if column.name != table_info(table).owner_column)


def match_keys(table: Table, keys: Sequence[tuple[Any, ...]]) -> list[ColumnElement[bool]]:
    """The clauses for the rows with these keys; none where an owner has one row."""
    columns = key_columns(table)
    return [tuple_(*columns).in_(keys)] if columns else []


def text_column(name: str, default: str | None = "", *, info: ColumnInfo | None = None) -> Column[str]:
    """A column of text; it is nullable where the default is None."""
    return Column(name, Text, nullable=default is None, server_default=default, info=info)


def integer_column(name: str, default: int | None = 0, *, info: ColumnInfo | None = None) -> Column[int]:
    """A column of integers; it is nullable where the default is None."""
    server_default = None if default is None else str(default)
    return Column(name, Integer, nullable=default is None, server_default=server_default, info=info)


def json_column(name: str, default: str | None = "[]", *, info: ColumnInfo | None = None) -> Column[Any]:
    """A column of JSON; it is nullable where the default is None."""
    return Column(name, Json, nullable=default is None, server_default=default, info=info)


def version_column() -> Column[int]:
    """The version column, by which a stale edit is detected."""
    return Column("version", Integer, nullable=False, server_default="1")


def timestamp_columns() -> tuple[Column[str], Column[str]]:
    """The columns for when a row was created and last changed."""
    return text_column("made"), text_column("changed")


def position_columns(prefix: str) -> tuple[Column[str], Column[int]]:
    """A position in the story. It has no foreign key: a position whose document is gone is never reached."""
    return Column(f"{prefix}_document", Text), Column(f"{prefix}_offset", Integer)


def project_foreign_key(
    columns: list[str], table: str, to: list[str] | None = None, *, ondelete: str = "CASCADE"
) -> Any:
    """A foreign key to another table of the same project."""
    return ForeignKeyConstraint(
        ["project_id", *columns], [f"{table}.{name}" for name in ("project_id", *(to or ["id"]))], ondelete=ondelete
    )
