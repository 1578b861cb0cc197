"""Version readers: the current versions of owners and a few rows, read as fast as each engine allows.

These are the only queries of a warm request, so they bypass SQLAlchemy and use the plain driver: on SQLite one
connection per thread, which answers in microseconds; on PostgreSQL a few connections of its own and prepared
statements. Where the connection was lost in the meantime, the query is tried once more.
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import Dialect, Engine

from fabula.store.connections import BUSY_SECONDS, SERVER_OPTIONS
from fabula.store.database_errors import explain_error, store_unreachable, translate_errors
from fabula.store.queries import OWNER, RowQuery

if TYPE_CHECKING:
    from psycopg import Connection


PreparedQuery = tuple[str, list[tuple[str, Any]]]  # with its parameters, as `RowQuery.prepare` lists them


class VersionReader(Protocol):
    """Reads the current versions of owners."""

    def read(self, owners: Sequence[str]) -> list[int]: ...
    def fetch(self, prepared: RowQuery, owner_id: str, values: dict[str, Any]) -> list[tuple[Any, ...]]: ...
    def close(self) -> None: ...


class StatementReader:
    """Runs prepared queries for the rows of one project, each as a statement by itself, without a transaction."""

    def __init__(self, reader: VersionReader, project_id: str) -> None:
        self._reader, self._project_id = reader, project_id

    def query(self, prepared: RowQuery, **values: object) -> list[tuple[Any, ...]]:
        """The rows that a prepared query finds."""
        return self._reader.fetch(prepared, self._project_id, values)


class _ThreadConnection:
    """A connection that is closed when the thread that used it has ended."""

    def __init__(self, file: Path) -> None:
        self.connection = sqlite3.connect(file, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)

    def __del__(self) -> None:
        if hasattr(self, "connection"):
            self.connection.close()


class SqliteVersionReader:
    """Reads versions over one plain connection per thread: microseconds, where SQLAlchemy takes a hundred."""

    def __init__(self, file: Path, dialect: Dialect) -> None:
        self._file, self._dialect = file, dialect
        self._local = threading.local()
        self._open: weakref.WeakSet[_ThreadConnection] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._with_values: dict[tuple[object, ...], PreparedQuery] = {}  # by how many owners, and the queries

    def read(self, owners: Sequence[str]) -> list[int]:
        """The versions of these owners; 0 for an unknown one."""
        (versions,) = self._query(_select_versions(len(owners)), owners)
        return [version or 0 for version in versions]

    def fetch(self, prepared: RowQuery, owner_id: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
        """The rows that a prepared query finds."""
        sql, parameters = prepared.compile(self._dialect, owner_id, values)
        return self._query(sql, parameters)

    def read_with_value(
        self, owners: Sequence[str], queries: Sequence[RowQuery], owner_id: str, values: dict[str, Any]
    ) -> tuple[list[int], Any]:
        """The versions of these owners, and what the first of some queries for one value finds, of the same moment.

        The queries take no lists, which would make another statement of them.
        """
        key = (len(owners), *queries)
        if key not in self._with_values:
            self._with_values[key] = _combine(len(owners), [one.prepare(self._dialect) for one in queries])
        sql, names = self._with_values[key]
        values[OWNER] = owner_id
        parameters = [*owners, *[values[name] if name else always for name, always in names]]
        ((*versions, value),) = self._query(sql, parameters)
        return [version or 0 for version in versions], value

    def _query(self, sql: str, parameters: Any) -> list[tuple[Any, ...]]:
        connection = (getattr(self._local, "connection", None) or self._connect()).connection
        try:
            return connection.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            raise explain_error(error) from error

    def _connect(self) -> _ThreadConnection:
        with translate_errors():
            opened = _ThreadConnection(self._file)
        with self._lock:
            self._open.add(opened)
        self._local.connection = opened
        return opened

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._lock:
            for opened in self._open:
                opened.connection.close()
            self._open.clear()
        self._local = threading.local()


@cache
def _select_versions(count: int) -> str:
    # one row; `owner IN (…)` would make a table of the values for each query
    return f"SELECT {', '.join(['(SELECT version FROM heads WHERE owner = ?)'] * count)}"


def _combine(count: int, queries: Sequence[PreparedQuery]) -> PreparedQuery:
    """One statement for the versions of so many owners and for the value that the first of some queries finds."""
    value = ", ".join([f"({sql})" for sql, _ in queries])  # a later query runs where the earlier ones find nothing
    return f"{_select_versions(count)}, coalesce({value})", [name for _, names in queries for name in names]


class PostgresVersionReader:
    """Reads versions over a few connections of its own, outside any transaction."""

    _QUERY = "SELECT owner, version FROM heads WHERE owner = ANY(%s)"
    _MAX_IDLE = 8

    def __init__(self, engine: Engine) -> None:
        self._dialect = engine.dialect
        self._arguments, self._options = engine.dialect.create_connect_args(engine.url)
        self._idle: list[Connection[Any]] = []

    def read(self, owners: Sequence[str]) -> list[int]:
        """The versions of these owners; 0 for an unknown one."""
        versions = dict(self._query(self._QUERY, (list(owners),)))
        return [versions.get(owner, 0) for owner in owners]

    def fetch(self, prepared: RowQuery, owner_id: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
        """The rows that a prepared query finds."""
        sql, parameters = prepared.compile(self._dialect, owner_id, values)
        return self._query(sql, parameters)

    def _query(self, sql: str, parameters: Any) -> list[tuple[Any, ...]]:
        from psycopg import Error, OperationalError

        try:
            try:
                return self._query_once(sql, parameters)
            except OperationalError:
                self.close()
                return self._query_once(sql, parameters)
        except OperationalError as error:
            raise store_unreachable() from error
        except Error as error:
            raise explain_error(error) from error

    def _query_once(self, sql: str, parameters: Any) -> list[tuple[Any, ...]]:
        connection = self._take_connection()
        try:
            rows = connection.execute(sql.encode(), parameters, prepare=True).fetchall()
        except BaseException:
            connection.close()
            raise
        if len(self._idle) < self._MAX_IDLE:
            self._idle.append(connection)
        else:
            connection.close()
        return rows

    def _take_connection(self) -> Connection[Any]:
        try:
            return self._idle.pop()
        except IndexError:
            from fabula.store.postgres import BoundedConnection

            return BoundedConnection.connect(*self._arguments, **{**self._options, **SERVER_OPTIONS}, autocommit=True)

    def close(self) -> None:
        """Close the connections that are not in use."""
        while self._idle:
            self._idle.pop().close()
