"""Queries of one table: checked so that none reaches the rows of another owner, and prepared where they are frequent.

To build a query takes several times as long as to execute it. A `RowQuery` is checked and built once; parameters
(`bindparam`) stand for its values and for the owner. The same is done for rows by their keys, for inserts, and for the
versions of owners and the change feed, which belong to every transaction. Each of these is a `PreparedStatement`, which
the driver executes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Protocol

from sqlalchemy import (
    ColumnElement,
    Connection,
    Dialect,
    Row,
    Select,
    Table,
    Text,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.sql import visitors
from sqlalchemy.sql.elements import ClauseElement, ColumnClause, TextClause, UnaryExpression
from sqlalchemy.sql.selectable import SelectBase

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.store.schema import table_info
from fabula.store.statements import PreparedStatement
from fabula.store.tables import changes, owner_versions

Order = Sequence[ColumnElement[Any] | UnaryExpression[Any]]
_PLAIN_KINDS = frozenset({str, int, bool, float, type(None), list, dict, tuple})  # of values that are no expressions
OWNER = "owner_of_rows"  # the parameter for the owner's id
_IS_OWNER = owner_versions.c.owner == bindparam("owner_name")

BEGIN_SNAPSHOT = PreparedStatement(select(owner_versions.c.version).limit(1))  # a snapshot is taken at the first query
SELECT_VERSION = PreparedStatement(select(owner_versions.c.version).where(_IS_OWNER))
LOCK_VERSION = PreparedStatement(select(owner_versions.c.version).where(_IS_OWNER).with_for_update())
SELECT_LATEST = PreparedStatement(select(owner_versions.c.version, owner_versions.c.latest).where(_IS_OWNER))
RAISE_VERSION = PreparedStatement(
    update(owner_versions)
    .where(_IS_OWNER)
    .values(
        version=owner_versions.c.version + 1,
        latest=owner_versions.c.latest + bindparam("line", type_=Text),
        changed=bindparam("at", type_=Text),
    )
    .returning(owner_versions.c.version, owner_versions.c.latest)
)
CLEAR_LATEST = PreparedStatement(update(owner_versions).where(_IS_OWNER).values(latest=""))
INSERT_CHANGES = PreparedStatement(insert(changes), [column.name for column in changes.c])
SELECT_CHANGES = PreparedStatement(
    select(changes.c.version, changes.c.room, changes.c.item)
    .where(changes.c.owner == bindparam("owner_name"), changes.c.version > bindparam("after"))
    .order_by(changes.c.version)
)
DELETE_CHANGES = PreparedStatement(
    delete(changes).where(changes.c.owner == bindparam("owner_name"), changes.c.version <= bindparam("until"))
)


class RowQuery:
    """A query for rows of one table that is checked and built once.

    Its clauses have a `bindparam` for every value that comes with an execution.
    """

    def __init__(
        self,
        table: Table,
        *where: ColumnElement[bool],
        order: Order = (),
        limit: int | None = None,
        only: Sequence[str] | None = None,
    ) -> None:
        self.table = table
        self._statement = PreparedStatement(select_rows(table, where, order, limit, only).where(_match_owner(table)))

    def execute(self, connection: Connection, owner_id: str, values: dict[str, Any]) -> Sequence[Row[Any]]:
        """Return the rows of one owner that the query finds with these values."""
        values[OWNER] = owner_id
        return self._statement.execute(connection, _check_plain(self.table, values))

    def prepare(self, dialect: Dialect) -> tuple[str, list[tuple[str, Any]]]:
        """Return the query as the drivers of a kind of database take it, and its parameters as they are listed."""
        compiled = self._statement.compile(dialect, {})
        return compiled.sql, compiled.list_parameters()

    def compile(self, dialect: Dialect, owner_id: str, values: dict[str, Any]) -> tuple[str, Any]:
        """Return the query and its parameters for one owner, as the driver of an engine takes them."""
        values[OWNER] = owner_id
        compiled = self._statement.compile(dialect, _check_plain(self.table, values))
        return compiled.sql, compiled.make_parameters(values)


class CountQuery(RowQuery):
    """A query for the number of rows of one table, in the first column of its only row."""

    def __init__(self, table: Table, *where: ColumnElement[bool]) -> None:
        self.table = table
        clauses = (*check_clauses(table, where), _match_owner(table))
        self._statement = PreparedStatement(select(func.count()).select_from(table).where(*clauses))


class RowReader(Protocol):
    """What runs prepared queries for the rows of one owner: a transaction, or each by itself."""

    def query(self, prepared: RowQuery, **values: object) -> Sequence[Any]: ...


@cache
def select_by_key(table: Table, names: tuple[str, ...]) -> RowQuery:
    """Prepare the query for a row by its key; the parameters are called as the columns."""
    return RowQuery(table, *(table.c[name] == bindparam(name) for name in names), limit=1)


@cache
def _insert_into(table: Table, names: tuple[str, ...]) -> PreparedStatement:
    return PreparedStatement(insert(table).inline(), names)


def insert_rows(connection: Connection, table: Table, owner_id: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows of one owner that have the same columns."""
    owner_column = table_info(table).owner_column
    all_values = [{**_check_plain(table, row), owner_column: owner_id} for row in rows]
    _insert_into(table, tuple(all_values[0])).execute_each(connection, all_values)


@cache
def _update_by_key(
    table: Table, key: tuple[str, ...], names: tuple[str, ...], returned: tuple[str, ...]
) -> PreparedStatement:
    matches = (table.c[name] == bindparam(f"key_{name}") for name in key)
    item = table_info(table).item or table_info(table).owner_column
    columns = [table.c[name] for name in (item, *returned)]
    return PreparedStatement(update(table).where(_match_owner(table), *matches).returning(*columns), names)


def update_by_key(
    connection: Connection,
    table: Table,
    owner_id: str,
    key: dict[str, Any],
    values: dict[str, Any],
    returned: tuple[str, ...],
) -> Row[Any] | None:
    """Change a row of one owner by its key; return its item and these columns, or None where there is no such row."""
    by_name = {**values, OWNER: owner_id}
    for name, value in key.items():
        by_name[f"key_{name}"] = value
    statement = _update_by_key(table, tuple(key), tuple(values), returned)
    rows = statement.execute(connection, _check_plain(table, by_name))
    return rows[0] if rows else None


def _check_plain(table: Table, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Refuse expressions in place of values."""
    if not _PLAIN_KINDS.issuperset(map(type, values.values())):
        for value in values.values():
            if isinstance(value, ClauseElement):
                raise scope_violation(f"a prepared query on {table.name} takes values only")
    return values


def _match_owner(table: Table) -> ColumnElement[bool]:
    return table.c[table_info(table).owner_column] == bindparam(OWNER)


def select_rows(
    table: Table,
    where: Sequence[ColumnElement[bool]],
    order: Order = (),
    limit: int | None = None,
    only: Sequence[str] | None = None,
) -> Select[Any]:
    """The query for rows of one table, whoever owns them."""
    columns = [table] if only is None else [table.c[name] for name in only]
    return select(*columns).where(*check_clauses(table, where)).order_by(*check_clauses(table, order)).limit(limit)


def check_clauses(table: Table, clauses: Sequence[Any]) -> Sequence[Any]:
    """Refuse clauses that use another table or a subquery: they could reach the rows of another owner."""
    for clause in clauses:
        for part in visitors.iterate(clause):
            foreign = isinstance(part, ColumnClause) and part.table is not table
            if foreign or isinstance(part, SelectBase | TextClause):
                raise scope_violation(f"a query on {table.name} can use columns of that table only")
    return clauses


def scope_violation(problem: str) -> FabulaError:
    """The error for code that reaches beyond the rows of its owner."""
    return FabulaError(
        Code.SCOPE_VIOLATION,
        message("This is a mistake in the program: {problem}. Nothing was changed.", problem=problem),
    )
