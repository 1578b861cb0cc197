"""Transactions, bound to their owners.

A room never meets a connection. It meets a transaction that belongs to one project or one person, or to
one of each, and asks it for rows of its tables: the owner's id is added to every query and to every row
here and nowhere else. Each write notes what it touched; on closing, the owner's version moves by one and
the change feed gets its lines, all in the same transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, Row, Table, delete, exists, func, insert, select, text, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql import visitors
from sqlalchemy.sql.elements import ClauseElement, ColumnClause, TextClause, UnaryExpression
from sqlalchemy.sql.selectable import SelectBase

from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import whole
from fabula.core.ids import now
from fabula.store.schema import OwnerKind, about
from fabula.store.tables import changes, heads

FEED = 5_000  # versions the change feed reaches back
_PRUNE = 500  # how often it is cut
_SERVERS_CLOCK = text("SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")


class Change(Struct, frozen=True):
    """One line of the change feed."""

    version: int
    room: str
    item: str


class Reading:
    """A look at one owner's rows, all of one moment."""

    def __init__(self, connection: Connection, owners: Mapping[OwnerKind, str]) -> None:
        self._connection = connection
        self._owners = owners

    def rows(
        self,
        table: Table,
        *where: ColumnElement[bool],
        order: Sequence[ColumnElement[Any] | UnaryExpression[Any]] = (),
        limit: int | None = None,
        only: Sequence[str] | None = None,
    ) -> Sequence[Row[Any]]:
        """The owner's rows of a table."""
        columns = [table] if only is None else [table.c[name] for name in only]
        query = select(*columns).where(self._owned(table), *self.checked(table, where))
        if order:
            query = query.order_by(*self.checked(table, order))
        if limit is not None:
            query = query.limit(limit)
        return self._connection.execute(query).all()

    def row(self, table: Table, **key: object) -> Row[Any] | None:
        """The one row of that key, if there is one."""
        found = self.rows(table, *self._at(table, key), limit=1)
        return found[0] if found else None

    def need(self, table: Table, **key: object) -> Row[Any]:
        """The one row of that key, or a refusal."""
        found = self.row(table, **key)
        if found is None:
            raise missing(table, key)
        return found

    def count(self, table: Table, *where: ColumnElement[bool]) -> int:
        """How many rows the owner has."""
        query = select(func.count()).select_from(table).where(self._owned(table), *self.checked(table, where))
        return int(self._connection.execute(query).scalar_one())

    def which(self, wanted: Sequence[tuple[Table, ColumnElement[bool]]]) -> list[bool]:
        """For each table, whether the owner has a row like that; one query for all of them."""
        asked = [exists().where(self._owned(table), *self.checked(table, [clause])) for table, clause in wanted]
        return [bool(found) for found in self._connection.execute(select(*asked)).one()]

    def most(self, table: Table, column: str, *where: ColumnElement[bool]) -> int | None:
        """The largest number of a column, None where there is no row."""
        query = select(func.max(table.c[column])).where(self._owned(table), *self.checked(table, where))
        found = self._connection.execute(query).scalar_one()
        return None if found is None else int(found)

    def total(self, table: Table, number: ColumnElement[int], *where: ColumnElement[bool]) -> int:
        """The sum of a number that is worked out from each row."""
        query = select(func.coalesce(func.sum(*self.checked(table, [number])), 0))
        found = query.where(self._owned(table), *self.checked(table, where))
        return int(self._connection.execute(found).scalar_one())

    def clock(self) -> str:
        """This moment, by the one clock that all who share the store go by: the server's, or this machine's."""
        if self._connection.dialect.name == "postgresql":
            return str(self._connection.execute(_SERVERS_CLOCK).scalar_one())
        return now()

    def belongs_to(self, kind: OwnerKind) -> bool:
        """Does a project, or a person, take part in this transaction?"""
        return kind in self._owners

    def version(self, kind: OwnerKind) -> int:
        """The version at which an owner stands."""
        found = self._connection.execute(select(heads.c.version).where(heads.c.owner == self._owner(kind))).scalar()
        return int(found or 0)

    def changes(self, kind: OwnerKind, after: int) -> list[Change] | None:
        """What changed since a version; None when the feed does not reach back that far."""
        owner = self._owner(kind)
        query = (
            select(changes.c.version, changes.c.room, changes.c.item)
            .where(changes.c.owner == owner, changes.c.version > after)
            .order_by(changes.c.version)
        )
        found = [Change(*row) for row in self._connection.execute(query)]
        expected = self.version(kind) - after
        return found if len({change.version for change in found}) == expected else None

    def _owner(self, kind: OwnerKind) -> str:
        owner = self._owners.get(kind)
        if owner is None:
            raise FabulaError(Code.SCOPE_VIOLATION, f"This transaction belongs to no {kind}. Nothing was changed.")
        return f"{kind}:{owner}"

    def _owned(self, table: Table) -> ColumnElement[bool]:
        """Whose rows: the one place where that is decided."""
        known = about(table)
        self._owner(known.owner)
        return table.c[known.owner_column] == self._owners[known.owner]

    @staticmethod
    def checked(table: Table, clauses: Sequence[Any]) -> Sequence[Any]:
        """Clauses that speak of this table alone: another table's rows must not be reached through one."""
        for clause in clauses:
            for part in visitors.iterate(clause):
                foreign = isinstance(part, ColumnClause) and part.table is not table
                if foreign or isinstance(part, SelectBase | TextClause):
                    raise FabulaError(
                        Code.SCOPE_VIOLATION, f"A query on {table.name} may speak of its own columns only."
                    )
        return clauses

    def _at(self, table: Table, key: Mapping[str, object]) -> list[ColumnElement[bool]]:
        _check_texts(key)
        clauses = [table.c[name] == value for name, value in key.items()]
        self.checked(table, clauses)
        return clauses


class Writing(Reading):
    """A change of one owner's rows: all of it, or nothing."""

    def __init__(self, connection: Connection, owners: Mapping[OwnerKind, str]) -> None:
        super().__init__(connection, owners)
        self._touched: dict[OwnerKind, dict[tuple[str, str], None]] = {}
        self._items: dict[str, dict[str, None]] = {}
        self.versions: dict[OwnerKind, int] = {}

    def lock(self) -> None:
        """Wait for one's turn: writers of one owner go one after the other, so that versions have no gaps."""
        for kind in self._owners:
            owner = self._owner(kind)
            query = select(heads.c.version).where(heads.c.owner == owner).with_for_update()
            if self._connection.execute(query).first() is None:
                self._connection.execute(_first_head(self._connection, owner))
                self._connection.execute(query)

    def add(self, table: Table, *rows: Mapping[str, Any]) -> None:
        """New rows; those without a column get its default."""
        if not rows:
            return
        known = about(table)
        self._owner(known.owner)
        owner = self._owners[known.owner]
        filled = []
        for row in rows:
            self._check_values(table, row)
            filled.append({**row, known.owner_column: owner})
        for batch in _alike(filled):
            self._connection.execute(insert(table), batch)
        for row in filled:
            self._touch(table, row.get(known.item or ""))

    def edit(
        self, table: Table, key: Mapping[str, object], values: Mapping[str, Any], *, expected: int | None = None
    ) -> int:
        """Change one row that people edit, and say its new version; a stale `expected` is refused."""
        self._check_values(table, values)
        where = [self._owned(table), *self._at(table, key)]
        if expected is not None:
            where.append(table.c.version == expected)
        item = about(table).item
        back = [table.c.version] if item is None else [table.c.version, table.c[item]]
        query = update(table).where(*where).values(**values, version=table.c.version + 1).returning(*back)
        found = self._connection.execute(query).first()
        if found is None:
            current = self.row(table, **key)
            if current is None:
                raise missing(table, key)
            raise FabulaError(
                about(table).conflict,
                f"This was changed elsewhere in the meantime: it stands at version {current.version}, and you have "
                f"{expected}. Load the newer one and try again. Nothing was changed.",
                current=current.version,
                expected=expected,
            )
        self._touch(table, found[1] if item is not None else "")
        return int(found[0])

    def change(self, table: Table, values: Mapping[str, Any], *where: ColumnElement[bool]) -> int:
        """Change many rows at once, without asking for versions; says how many."""
        self._check_values(table, values)
        query = update(table).where(self._owned(table), *self.checked(table, where)).values(**values)
        return self._noting(table, query)

    def remove(self, table: Table, *where: ColumnElement[bool]) -> int:
        """Take rows away; says how many."""
        return self._noting(table, delete(table).where(self._owned(table), *self.checked(table, where)))

    def _check_values(self, table: Table, values: Mapping[str, Any]) -> None:
        """New values stay with their owner, and are worked out from the row itself at most."""
        known = about(table)
        if values.get(known.owner_column, self._owners.get(known.owner)) != self._owners.get(known.owner):
            raise FabulaError(
                Code.SCOPE_VIOLATION,
                f"A row of {table.name} cannot be given to another {known.owner}. Nothing changed.",
            )
        self.checked(table, [value for value in values.values() if isinstance(value, ClauseElement)])
        _check_texts(values)

    def _noting(self, table: Table, query: Any) -> int:
        known = about(table)
        back = table.c[known.item or known.owner_column]
        found = self._connection.execute(query.returning(back)).all()
        for (item,) in found:
            self._touch(table, item if known.item is not None else "")
        return len(found)

    def touch(self, kind: OwnerKind, room: str, item: str = "") -> None:
        """Note a change that no table of the owner shows."""
        self._touched.setdefault(kind, {})[room, item] = None

    def _touch(self, table: Table, item: object) -> None:
        known, said = about(table), "" if item is None else str(item)
        self._items.setdefault(table.name, {})[said] = None
        if known.told:
            self.touch(known.owner, known.room, said)

    def items(self, table: Table) -> list[str]:
        """Which items of a table this transaction has changed so far."""
        return list(self._items.get(table.name, ()))

    def settle(self) -> None:
        """Move the versions and write the feed; the last thing before the commit."""
        for kind, touched in self._touched.items():
            owner = self._owner(kind)
            query = update(heads).where(heads.c.owner == owner).values(version=heads.c.version + 1)
            version = int(self._connection.execute(query.returning(heads.c.version)).scalar_one())
            self.versions[kind] = version
            at = now()
            self._connection.execute(
                insert(changes),
                [{"owner": owner, "version": version, "room": room, "item": item, "at": at} for room, item in touched],
            )
            if version % _PRUNE == 0:
                old = changes.c.version <= version - FEED
                self._connection.execute(delete(changes).where(changes.c.owner == owner, old))


def missing(table: Table, key: Mapping[str, object]) -> FabulaError:
    """There is no such row."""
    known = about(table)
    which = ", ".join(str(value) for value in key.values()) or known.owner
    noun = table.name.removeprefix("codex_").replace("_", " ")
    return FabulaError(known.missing, f"There is no {which!r} among the {noun} here (any more). Nothing was changed.")


def _first_head(connection: Connection, owner: str) -> Any:
    make = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    return make(heads).values(owner=owner, version=0).on_conflict_do_nothing()


def _alike(rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Rows in batches that name the same columns, in order."""
    batches: list[list[dict[str, Any]]] = []
    for row in rows:
        if batches and batches[-1][0].keys() == row.keys():
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches


def _packs(value: object) -> bool:
    """Can this be written as JSON, if that is what it is for?"""
    if not isinstance(value, dict | list | tuple):
        return True
    try:
        msgspec.json.encode(value)
    except (UnicodeEncodeError, msgspec.MsgspecError, TypeError):
        return False
    return True


def _check_texts(values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if (isinstance(value, str) and ("\x00" in value or not whole(value))) or not _packs(value):
            raise FabulaError(
                Code.TEXT_INVALID,
                f"The text of {name!r} holds a character that cannot be kept (a null, or half of a surrogate pair). "
                "Remove it and try again. Nothing was changed.",
            )
