"""SQLite as SQLAlchemy uses it here: a transaction that will write takes the write lock at its start.

A listener for the event `begin` could do the same, but SQLAlchemy then looks for listeners at every step of every
transaction, which takes longer than to begin one.
"""

from __future__ import annotations

from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.pool import PoolProxiedConnection

from fabula.store.connections import WRITES


class SqliteDialect(SQLiteDialect_pysqlite):
    """SQLite with transactions that begin where SQLAlchemy begins them, and not at the first change."""

    supports_statement_cache = True

    def do_begin(self, dbapi_connection: PoolProxiedConnection) -> None:
        """Begin a transaction."""
        dbapi_connection.execute("BEGIN IMMEDIATE" if dbapi_connection.info.pop(WRITES, False) else "BEGIN").close()
