"""Connections: SQLite in a file with nothing to install, or PostgreSQL by its address.

SQLite runs with a write-ahead log and waits for the disk at every commit (`synchronous=FULL`), so that
what was acknowledged survives a power cut. Writers take their turn from the start of a transaction
(`BEGIN IMMEDIATE`) and wait for each other; that is what keeps "database is locked" away from people.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from platformdirs import user_data_path
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import QueuePool

from fabula.core.errors import Code, FabulaError
from fabula.store.faults import explained, in_words, lost_connection

FILE = "fabula.db"
BUSY_SECONDS = 60
CONNECT_SECONDS = 4
_PRAGMAS = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}


def data_folder() -> Path:
    """Where a person's data lives: `FABULA_DATA`, or the platform's own place for it."""
    chosen = os.environ.get("FABULA_DATA")
    return Path(chosen).expanduser() if chosen else user_data_path("fabula", appauthor=False)


def is_address(where: str) -> bool:
    """Is this the address of a database server, rather than a place on this disk?"""
    return where.startswith(("postgresql:", "postgres:", "postgresql+psycopg:"))


def sqlite_engine(file: Path) -> Engine:
    """An engine on one file; its folder is made."""
    with in_words():
        file.parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(
        URL.create("sqlite", database=str(file)),
        poolclass=QueuePool,
        pool_size=8,
        max_overflow=56,
        connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False, "isolation_level": None},
    )
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: sqlite3.Connection, _: object) -> None:
    for name, wanted in _PRAGMAS.items():
        _patiently(connection, f"PRAGMA {name}={wanted}")
        (got,) = connection.execute(f"PRAGMA {name}").fetchone()
        if got != wanted:
            raise FabulaError(
                Code.STORE_READ_ONLY,
                f"SQLite would not run safely here ({name} is {got}, not {wanted}). Choose a folder on a local disk. "
                "Nothing was changed.",
            )


def _patiently(connection: sqlite3.Connection, statement: str) -> None:
    """Where several make a new store at once, SQLite does not wait by itself for its turn to set the journal up."""
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


def _begin(connection: Connection) -> None:
    writing = connection.get_execution_options().get("writing", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def postgres_engine(address: str) -> Engine:
    """An engine on a PostgreSQL server."""
    try:
        url = make_url(address).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError) as error:
        raise FabulaError(
            Code.STORE_UNREACHABLE, "That is not the address of a database; it looks like postgresql://user@host/name."
        ) from error
    options: dict[str, Any] = {
        "connect_timeout": CONNECT_SECONDS,
        "tcp_user_timeout": CONNECT_SECONDS * 1000,  # a server that falls silent is noticed, too
        "options": f"-c lock_timeout={BUSY_SECONDS * 1000}",
    }
    try:
        return create_engine(url, pool_size=8, max_overflow=24, connect_args=options)
    except ImportError as error:
        raise FabulaError(
            Code.STORE_UNREACHABLE, "PostgreSQL needs its driver: install `fabula[postgres]`. Nothing was changed."
        ) from error


class Heads(Protocol):
    """Asks at which versions owners stand, as quickly as the engine can be asked."""

    def __call__(self, owners: Sequence[str]) -> list[int]: ...
    def close(self) -> None: ...


class _Plain:
    """A plain connection, closed when the thread that used it is gone."""

    def __init__(self, file: Path) -> None:
        self.connection = sqlite3.connect(file, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)

    def __del__(self) -> None:
        if hasattr(self, "connection"):
            self.connection.close()


class SqliteHeads:
    """One plain connection a thread: a point query takes microseconds, where the full machinery takes a hundred."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._own = threading.local()
        self._all: weakref.WeakSet[_Plain] = weakref.WeakSet()
        self._lock = threading.Lock()

    def __call__(self, owners: Sequence[str]) -> list[int]:
        """Their versions; 0 for those nobody has heard of."""
        connection = (getattr(self._own, "plain", None) or self._connect()).connection
        marks = ", ".join("?" * len(owners))
        query = f"SELECT owner, version FROM heads WHERE owner IN ({marks})"
        try:
            found = dict(connection.execute(query, owners).fetchall())
        except sqlite3.Error as error:
            raise explained(error) from error
        return [found.get(owner, 0) for owner in owners]

    def _connect(self) -> _Plain:
        with in_words():
            plain = _Plain(self._file)
        with self._lock:
            self._all.add(plain)
        self._own.plain = plain
        return plain

    def close(self) -> None:
        """Let go of every thread's connection."""
        with self._lock:
            for plain in self._all:
                plain.connection.close()
            self._all.clear()
        self._own = threading.local()


class ServerHeads:
    """The same through a connection of the pool, outside any transaction."""

    _ASK = text("SELECT owner, version FROM heads WHERE owner = ANY(:owners)")

    def __init__(self, engine: Engine) -> None:
        self._engine = engine.execution_options(isolation_level="AUTOCOMMIT")

    def __call__(self, owners: Sequence[str]) -> list[int]:
        """Their versions; asked once more where the server was away in the meantime."""
        with in_words():
            try:
                return self._ask(owners)
            except DBAPIError as error:
                if not lost_connection(error):
                    raise
                return self._ask(owners)

    def _ask(self, owners: Sequence[str]) -> list[int]:
        with self._engine.connect() as connection:
            rows = connection.execute(self._ASK, {"owners": list(owners)}).all()
        found = {row.owner: int(row.version) for row in rows}
        return [found.get(owner, 0) for owner in owners]

    def close(self) -> None:
        """The pool belongs to the engine."""
