"""Across: all owners' rows of one table, for whoever works for all of them.

A room sees one owner's rows and cannot reach another's. Background work is done for everybody, so its table
says that it may be looked through (`About.crossed`), and no other table can be. What is found is changed
through a transaction of the row's own owner; since that owner's turn was not taken, only tables whose changes
are in no feed (`About.told`) can be changed there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Table, select
from sqlalchemy.sql.elements import UnaryExpression

from fabula.core.errors import Code, FabulaError
from fabula.store.schema import about
from fabula.store.transaction import Reading, Writing


class Unturned(Writing):
    """A change of one owner's rows out of turn: only of tables whose changes are in no feed."""

    def _touch(self, table: Table, item: object) -> None:
        if about(table).told:
            raise FabulaError(
                Code.SCOPE_VIOLATION, f"Rows of {table.name} are changed in their owner's turn only. Nothing changed."
            )
        super()._touch(table, item)


class Across:
    """A look at all owners' rows of one table, all of one moment."""

    def __init__(self, connection: Connection, table: Table) -> None:
        if not about(table).crossed:
            raise FabulaError(Code.SCOPE_VIOLATION, f"Rows of {table.name} can be seen by their owners only.")
        self._connection = connection
        self._table = table
        self._owner = table.c[about(table).owner_column]

    def rows(
        self,
        *where: ColumnElement[bool],
        order: Sequence[ColumnElement[Any] | UnaryExpression[Any]] = (),
        limit: int | None = None,
        only: Sequence[str] | None = None,
        lock: bool = False,
    ) -> Sequence[Row[Any]]:
        """Rows of everybody; `lock` passes over those that somebody else is at, and keeps others off these."""
        columns = [self._table] if only is None else [self._table.c[name] for name in only]
        query = select(*columns).where(*Reading.checked(self._table, where))
        if order:
            query = query.order_by(*Reading.checked(self._table, order))
        if limit is not None:
            query = query.limit(limit)
        if lock:
            query = query.with_for_update(skip_locked=True)  # SQLite has one writer at a time anyway
        return self._connection.execute(query).all()

    def owners(self, *where: ColumnElement[bool]) -> list[str]:
        """Whose rows are like that."""
        query = select(self._owner).where(*Reading.checked(self._table, where)).distinct().order_by(self._owner)
        return list(self._connection.execute(query).scalars())

    def of(self, owner: str) -> Unturned:
        """The same transaction, bound to one owner."""
        return Unturned(self._connection, {about(self._table).owner: owner})

    def clock(self) -> str:
        """This moment, as everybody who shares the store reads it."""
        return Reading(self._connection, {}).clock()
