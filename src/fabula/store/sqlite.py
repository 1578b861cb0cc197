"""SQLite as SQLAlchemy uses it here: a transaction begins where the store begins it, and not at the first change.

The driver begins and commits most transactions by itself (`connections.begin_sqlite`), which takes SQLAlchemy longer
than SQLite. What SQLAlchemy executes in one of them belongs to it.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.pool import PoolProxiedConnection


class SqliteDialect(SQLiteDialect_pysqlite):
    """SQLite with transactions that SQLAlchemy begins, or that it finds begun."""

    supports_statement_cache = True

    def do_begin(self, dbapi_connection: PoolProxiedConnection) -> None:
        """Begin a transaction, unless the driver is in one."""
        driver: Any = dbapi_connection.dbapi_connection
        if not driver.in_transaction:
            driver.execute("BEGIN")
