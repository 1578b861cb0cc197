"""Statements that are built once and handed to the driver as they are.

SQLAlchemy takes several times as long to prepare an execution as the driver takes for all of it. What every request
and every change executes is therefore compiled once for each kind of database; from then on the driver gets the text
and the values, on the connection and in the transaction of SQLAlchemy. Rows, errors and listeners are as SQLAlchemy
has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import BindParameter, Connection, Delete, Dialect, Insert, Row, Select, Update
from sqlalchemy.engine import result_tuple
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql import visitors
from sqlalchemy.sql.dml import ReturningUpdate

from fabula.store.schema import Json, decode_json, encode_json

Values = Mapping[str, Any]


class PreparedStatement:
    """A statement with a `bindparam` for every value that comes with an execution; `expanding` ones take lists.

    An insert has the names of the `columns` that get values.
    """

    def __init__(
        self,
        statement: Select[Any] | Insert | Update | ReturningUpdate[Any] | Delete,
        columns: Sequence[str] | None = None,
    ) -> None:
        self._statement, self._columns = statement, columns
        parameters = [part for part in visitors.iterate(statement) if isinstance(part, BindParameter)]
        self._lists = [one.key for one in parameters if one.expanding]
        self._compiled: dict[object, CompiledStatement] = {}  # by dialect, and by the lengths of lists

    def compile(self, dialect: Dialect, values: Values) -> CompiledStatement:
        """Return the statement as the drivers of a kind of database take it, for lists as long as these values."""
        key = (dialect.name, *[len(values[name]) for name in self._lists]) if self._lists else dialect.name
        compiled = self._compiled.get(key)
        if compiled is None:
            lengths = {name: len(values[name]) for name in self._lists}
            compiled = self._compiled[key] = CompiledStatement(self._statement, dialect, lengths, self._columns)
        return compiled

    def execute(self, connection: Connection, values: Values) -> list[Row[Any]]:
        """Execute the statement with these values; return the rows that it finds or returns."""
        compiled = self.compile(connection.dialect, values)
        return compiled.read_rows(compiled.execute(connection, compiled.make_parameters(values)))

    def execute_each(self, connection: Connection, all_values: Sequence[Values]) -> None:
        """Execute the statement, which returns no rows, with each of these values."""
        compiled = self.compile(connection.dialect, all_values[0])
        parameters = [compiled.make_parameters(values) for values in all_values]
        compiled.execute(connection, parameters[0] if len(parameters) == 1 else parameters)


class CompiledStatement:
    """A statement as the drivers of one kind of database take it."""

    def __init__(
        self, statement: Any, dialect: Dialect, lengths: Mapping[str, int], columns: Sequence[str] | None
    ) -> None:
        compiled = statement.compile(dialect=dialect, column_keys=columns)
        self._literals = {name: one.effective_value for name, one in compiled.binds.items() if not one.required}
        if lengths:  # a parameter for each value of a list
            examples = {name: [None] * lengths.get(name, 0) for name, one in compiled.binds.items() if one.required}
            statement = statement.params(examples)
            compiled = statement.compile(dialect=dialect, compile_kwargs={"render_postcompile": True})
        self.sql: str = compiled.string
        self._order: Sequence[str] | None = compiled.positiontup  # None where values go by name
        self._lists = tuple(lengths)
        self._encoded = [name for name, one in compiled.binds.items() if isinstance(one.type, Json)]
        self._encoded_places = [place for place, name in enumerate(self._order or ()) if name in self._encoded]
        found = list(statement.exported_columns)
        self._decoded = [place for place, column in enumerate(found) if isinstance(column.type, Json)]
        self._returns_rows = bool(found)
        self._make_row = result_tuple([str(column.name) for column in found])

    def make_parameters(self, values: Values) -> Any:
        """Return the parameters of an execution."""
        if self._order is not None and not (self._literals or self._lists):
            in_order = [values[name] for name in self._order]
            for place in self._encoded_places:
                in_order[place] = encode_json(in_order[place])
            return tuple(in_order)
        by_name = {**self._literals, **values}
        for name in self._encoded:
            by_name[name] = encode_json(by_name[name])
        for name in self._lists:
            by_name |= {f"{name}_{number}": value for number, value in enumerate(by_name.pop(name), start=1)}
        return by_name if self._order is None else tuple(map(by_name.__getitem__, self._order))

    def list_parameters(self) -> list[tuple[str, Any]]:
        """List the names of values in their order; with an empty name, a value that is always the same."""
        return [("", self._literals[one]) if one in self._literals else (one, None) for one in self._order or ()]

    def execute(self, connection: Connection, parameters: Any) -> list[tuple[Any, ...]]:
        """Execute the statement with parameters, or with each of a list of them; return the rows as the driver does."""
        driver: Any = connection.connection.dbapi_connection
        if connection.engine.dispatch.before_cursor_execute:  # somebody listens to what SQLAlchemy executes
            result = connection.exec_driver_sql(self.sql, parameters)
            return [tuple(row) for row in result] if self._returns_rows else []
        try:
            if isinstance(parameters, list):
                driver.cursor().executemany(self.sql, parameters)
                return []
            cursor = driver.execute(self.sql, parameters)
            return cursor.fetchall() if self._returns_rows else []
        except connection.dialect.loaded_dbapi.Error as error:
            raise wrap_error(connection, self.sql, error) from error

    def read_rows(self, rows: Iterable[tuple[Any, ...]]) -> list[Row[Any]]:
        """Read the rows of the driver, with their JSON decoded."""
        return list(map(self._make_row, map(self._decode, rows) if self._decoded else rows))

    def _decode(self, row: tuple[Any, ...]) -> list[Any]:
        values = list(row)
        for place in self._decoded:
            values[place] = decode_json(values[place])
        return values


def wrap_error(connection: Connection, sql: str, error: Any) -> BaseException:
    """Make the error of SQLAlchemy for one of the driver; a connection that was lost is not used again."""
    dialect = connection.dialect
    is_lost = dialect.is_disconnect(error, connection.connection, None)
    if is_lost:
        connection.invalidate(error)
    wrapped: BaseException = DBAPIError.instance(
        sql,
        None,
        error,
        dialect.loaded_dbapi.Error,
        hide_parameters=connection.engine.hide_parameters,
        connection_invalidated=is_lost,
        dialect=dialect,
    )
    return wrapped
