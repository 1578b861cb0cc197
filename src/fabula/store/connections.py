"""Database engines: SQLite in a file, with nothing to install, or a PostgreSQL server by its address (sav-3).

SQLite runs with a write-ahead log and syncs to disk at every commit (`synchronous=FULL`), so that an acknowledged
change survives a power cut. A write transaction takes SQLite's write lock at its start (`BEGIN IMMEDIATE`), and
others wait for it; this keeps "database is locked" errors away from users.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platformdirs import user_data_path
from sqlalchemy import URL, Connection, Engine, RootTransaction, create_engine, event, make_url
from sqlalchemy.dialects import registry
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import QueuePool

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.core.new_files import make_private_file, make_private_folder
from fabula.store.database_errors import translate_errors
from fabula.store.statements import wrap_error

if TYPE_CHECKING:
    from fabula.store.postgres import BoundedConnection

DATABASE_FILE = "fabula.db"
DATA_VARIABLE = "FABULA_DATA"
BUSY_SECONDS = 60
IDLE_SECONDS = 120  # of a transaction in which nothing happens: its process is frozen or cut off, and holds locks
CONNECT_SECONDS = 4
_MAX_IDLE = 8  # connections
SERVER_OPTIONS: dict[str, Any] = {
    "connect_timeout": CONNECT_SECONDS,
    "tcp_user_timeout": CONNECT_SECONDS * 1000,  # notices a server that stops answering
}
registry.register("sqlite.fabula", "fabula.store.sqlite", "SqliteDialect")
_PRAGMAS = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}


def data_folder() -> Path:
    """The folder of the user's data: `FABULA_DATA`, or the platform's usual data folder."""
    chosen = os.environ.get(DATA_VARIABLE)
    return Path(chosen).expanduser() if chosen else user_data_path("fabula", appauthor=False)


def is_server_url(where: str) -> bool:
    """Whether this is the address of a database server, rather than a path."""
    return where.startswith(("postgresql:", "postgres:", "postgresql+psycopg:"))


def make_sqlite_engine(file: Path) -> Engine:
    """Make an engine on one SQLite file, and the folder for it."""
    with translate_errors():
        make_private_folder(file.parent)
        make_private_file(file)  # the files beside it get the same permissions
    engine = create_engine(
        URL.create("sqlite+fabula", database=str(file)),
        poolclass=QueuePool,
        pool_size=_MAX_IDLE,
        max_overflow=56,
        hide_parameters=True,  # which are texts of the story, and errors may be logged
        connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False, "isolation_level": None},
    )
    event.listen(engine, "connect", _prepare)
    return engine


def _prepare(connection: sqlite3.Connection, _: object) -> None:
    for name, expected in _PRAGMAS.items():
        _execute_when_free(connection, f"PRAGMA {name}={expected}")
        (actual,) = connection.execute(f"PRAGMA {name}").fetchone()
        if actual != expected:
            raise FabulaError(
                Code.STORE_READ_ONLY,
                message(
                    "SQLite would not run safely here ({name} is {actual}, not {expected}). "
                    "Choose a folder on a local disk. Nothing was changed.",
                    name=name,
                    actual=actual,
                    expected=expected,
                ),
            )


def _execute_when_free(connection: sqlite3.Connection, statement: str) -> None:
    """Retry a statement while the file is locked: SQLite itself does not wait when it sets up the journal."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute(statement).close()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.005)
        else:
            return


def begin(connection: Connection, *, writing: bool) -> RootTransaction:
    """Begin a transaction of SQLAlchemy; one that will write waits for SQLite's write lock."""
    if connection.dialect.name == "sqlite":
        begin_sqlite(connection, writing=writing)
    return connection.begin()


def begin_sqlite(connection: Connection, *, writing: bool) -> None:
    """Begin a transaction of the driver, which SQLAlchemy joins if it executes something in it."""
    driver: Any = connection.connection.dbapi_connection
    statement = "BEGIN IMMEDIATE" if writing else "BEGIN"
    try:
        driver.execute(statement)
    except sqlite3.Error as error:
        raise wrap_error(connection, statement, error) from error


def commit_sqlite(connection: Connection) -> None:
    """Commit a transaction that the driver began, whether SQLAlchemy joined it or not."""
    if connection.in_transaction():
        connection.commit()
        return
    try:
        connection.connection.commit()
    except sqlite3.Error as error:
        raise wrap_error(connection, "COMMIT", error) from error


class IdleConnections:
    """Connections that wait for the next transaction, the last one used first: its pages are still in memory.

    SQLAlchemy's pool bounds how many connections there are. To return one to it and to take it out again takes as long
    as SQLite takes for a small change, so it gets back only those that failed, or that are too many.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._idle: defaultdict[int, list[Connection]] = defaultdict(list)  # by process: a fork must not use them

    def take(self) -> Connection:
        """Take a connection out, or connect."""
        try:
            return self._idle[os.getpid()].pop()
        except IndexError:
            return self._engine.connect()

    def give_back(self, connection: Connection) -> None:
        """Keep a connection whose transaction has ended."""
        idle = self._idle[os.getpid()]
        if len(idle) < _MAX_IDLE:
            idle.append(connection)
        else:
            connection.close()

    def close(self) -> None:
        """Close all of them."""
        idle = self._idle[os.getpid()]
        while idle:
            idle.pop().close()


def _connect_to_server(_: object, __: object, arguments: list[Any], options: dict[str, Any]) -> BoundedConnection:
    from fabula.store.postgres import BoundedConnection

    return BoundedConnection.connect(*arguments, **options)


def make_postgres_engine(address: str) -> Engine:
    """Make an engine on a PostgreSQL server."""
    try:
        url = make_url(address).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError) as error:
        raise FabulaError(
            Code.STORE_UNREACHABLE,
            message("That is not the address of a database. An address looks like postgresql://user@host/name."),
        ) from error
    try:
        limits = {"lock_timeout": BUSY_SECONDS, "idle_in_transaction_session_timeout": IDLE_SECONDS}
        given = " ".join(f"-c {name}={seconds * 1000}" for name, seconds in limits.items())
        options = {**SERVER_OPTIONS, "options": given}
        engine = create_engine(url, pool_size=_MAX_IDLE, max_overflow=24, hide_parameters=True, connect_args=options)
        event.listen(engine, "do_connect", _connect_to_server)
        return engine
    except ImportError as error:
        raise FabulaError(
            Code.STORE_UNREACHABLE,
            message("PostgreSQL needs a driver: install `fabula[postgres]`. Nothing was changed."),
        ) from error
