"""Connections: SQLite in a file with nothing to install, or PostgreSQL by its address.

SQLite runs with a write-ahead log and waits for the disk at every commit (`synchronous=FULL`), so that
what was acknowledged survives a power cut. Writers take their turn from the start of a transaction
(`BEGIN IMMEDIATE`) and wait for each other; that is what keeps "database is locked" away from people.
"""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from typing import Any

from platformdirs import user_data_path
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import QueuePool

from fabula.core.errors import Code, FabulaError
from fabula.store.database_errors import in_words

FILE = "fabula.db"
BUSY_SECONDS = 60
CONNECT_SECONDS = 4
SERVER: dict[str, Any] = {
    "connect_timeout": CONNECT_SECONDS,
    "tcp_user_timeout": CONNECT_SECONDS * 1000,  # a server that falls silent is noticed, too
}
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
    try:
        patience = {**SERVER, "options": f"-c lock_timeout={BUSY_SECONDS * 1000}"}
        return create_engine(url, pool_size=8, max_overflow=24, connect_args=patience)
    except ImportError as error:
        raise FabulaError(
            Code.STORE_UNREACHABLE, "PostgreSQL needs its driver: install `fabula[postgres]`. Nothing was changed."
        ) from error
