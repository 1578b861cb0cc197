"""Transactions over the rows of all projects, for the worker that runs jobs of every project.

An ordinary transaction sees the rows of one owner only. A table opts in to queries over all owners
(`TableInfo.across_projects`): that of jobs, and that of kept answers, of which old ones are deleted for everybody. A
row that was found this way is changed through a transaction of its own owner. That transaction does not hold the
owner's lock, so it can change only tables whose changes are not in the change feed (`TableInfo.tracked`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Table

from fabula.store.queries import Order, scope_violation, select_rows
from fabula.store.schema import table_info
from fabula.store.transaction import ReadTransaction, WriteTransaction


class UnlockedTransaction(WriteTransaction):
    """A write transaction that does not hold its owner's lock: it changes untracked tables only."""

    def _record_row_change(self, table: Table, item: object) -> None:
        if table_info(table).tracked:
            raise scope_violation(f"rows of {table.name} are changed under their owner's lock only")
        super()._record_row_change(table, item)


class AllProjectsTransaction:
    """A consistent read of the rows of all owners in one table."""

    def __init__(self, connection: Connection, table: Table) -> None:
        if not table_info(table).across_projects:
            raise scope_violation(f"rows of {table.name} can be seen by their owners only")
        self._connection = connection
        self._table = table

    def rows(
        self,
        *where: ColumnElement[bool],
        order: Order = (),
        limit: int | None = None,
        only: Sequence[str] | None = None,
        lock: bool = False,
    ) -> Sequence[Row[Any]]:
        """Rows of all owners; `lock` skips rows that another transaction has locked, and locks the others."""
        query = select_rows(self._table, where, order, limit, only)
        if lock:
            query = query.with_for_update(skip_locked=True)  # SQLite has one writer at a time anyway
        return self._connection.execute(query).all()

    def owner_ids(self, *where: ColumnElement[bool]) -> list[str]:
        """The owners of the rows that match."""
        query = select_rows(self._table, where, only=[table_info(self._table).owner_column]).distinct()
        return sorted(self._connection.execute(query).scalars())

    def for_owner(self, owner: str) -> UnlockedTransaction:
        """The same transaction, limited to one owner."""
        return UnlockedTransaction(self._connection, {table_info(self._table).owner: owner})

    def current_time(self) -> str:
        """The current time by the clock that all processes on the store share."""
        return ReadTransaction(self._connection, {}).current_time()
