"""Read and write transactions that belong to one project, one user, or one of each.

No other package uses a database connection. A package asks a transaction for rows of its tables; the owner's id is
added to every query and every row here and in `queries`, and nowhere else. Each write records which areas and items it
changed. Before the commit, the owner's version is raised by one and the change feed gets one entry for each changed
item, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Table,
    and_,
    bindparam,
    delete,
    exists,
    func,
    literal,
    select,
    text,
    update,
)
from sqlalchemy.sql.elements import ClauseElement
from sqlalchemy.sql.util import ClauseAdapter

from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import is_encodable
from fabula.core.ids import current_timestamp
from fabula.core.messages import Sentence, message
from fabula.store.change_signal import NOTIFY
from fabula.store.latest_changes import MAX_LATEST, count_versions, decode_lines, encode_line
from fabula.store.queries import (
    CLEAR_LATEST,
    DELETE_CHANGES,
    INSERT_CHANGES,
    LOCK_VERSION,
    RAISE_VERSION,
    SELECT_CHANGES,
    SELECT_LATEST,
    SELECT_VERSION,
    Order,
    RowQuery,
    check_clauses,
    insert_rows,
    scope_violation,
    select_by_key,
    select_rows,
    update_by_key,
)
from fabula.store.schema import (
    MAX_LONG_TEXT,
    MAX_SHORT_TEXT,
    OwnerKind,
    find_long_text,
    key_columns,
    list_bounded_columns,
    match_keys,
    max_characters,
    table_info,
)
from fabula.store.slugs import list_project_slugs
from fabula.store.tables import PROJECT_NUMBERS, owner_versions, projects

if TYPE_CHECKING:
    from fabula.store.undo import ChangeRecorder

FEED_LENGTH = 5_000  # versions that the change feed covers
_PRUNE_EVERY = 500  # versions
_BATCH = 500  # rows changed in one statement
_CHECKED = (str, dict, list, tuple)  # values that may be of any length and have any characters
_UNCHECKED = frozenset({int, bool, float, type(None)})  # kinds of values with which nothing can be wrong
_SERVER_TIME = text("SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")


class Change(Struct, frozen=True):
    """One row of the change feed."""

    version: int
    area: str
    item: str


class ReadTransaction:
    """A consistent read of the rows of its owners."""

    def __init__(self, connection: Connection, owners: Mapping[OwnerKind, str]) -> None:
        self._connection = connection
        self._owners = owners

    def rows(
        self,
        table: Table,
        *where: ColumnElement[bool],
        order: Order = (),
        limit: int | None = None,
        only: Sequence[str] | None = None,
        offset: int = 0,
    ) -> Sequence[Row[Any]]:
        """The owner's rows of a table, without the first `offset`."""
        query = select_rows(table, where, order, limit, only).where(self._owned(table))
        if offset:
            query = query.offset(offset)
        return self._connection.execute(query).all()

    def query(self, prepared: RowQuery, **values: object) -> Sequence[Row[Any]]:
        """The owner's rows that a prepared query finds with these values."""
        return prepared.execute(self._connection, self._owner_id(prepared.table), values)

    def row(self, table: Table, **key: object) -> Row[Any] | None:
        """The row with that key; None where there is none."""
        check_texts(key)
        rows = self.query(select_by_key(table, tuple(key)), **key)
        return rows[0] if rows else None

    def require(self, table: Table, **key: object) -> Row[Any]:
        """The row with that key; a coded error where there is none."""
        row = self.row(table, **key)
        if row is None:
            raise row_missing(table, key)
        return row

    def count(self, table: Table, *where: ColumnElement[bool], limit: int | None = None) -> int:
        """The number of the owner's rows; with a limit, of so many at most."""
        query = select(func.count()).select_from(table).where(self._owned(table), *check_clauses(table, where))
        if limit is not None:
            clauses = (self._owned(table), *check_clauses(table, where))
            query = select(func.count()).select_from(select(literal(1)).where(*clauses).limit(limit).subquery())
        return int(self._connection.execute(query).scalar_one())

    def exist(self, clauses: Sequence[tuple[Table, ColumnElement[bool]]]) -> list[bool]:
        """For each table and clause, whether the owner has such a row; one query for all of them."""
        queries = [exists().where(self._owned(table), *check_clauses(table, [clause])) for table, clause in clauses]
        return [bool(found) for found in self._connection.execute(select(*queries)).one()]

    def rows_related(
        self,
        table: Table,
        related: Table,
        key: str,
        clauses: Sequence[ColumnElement[bool]],
        *,
        order: Order,
        limit: int | None,
        only: Sequence[str] | None = None,
    ) -> Sequence[Row[Any]]:
        """The owner's rows of a table that a related table names by their id in `key`, with a row for every clause.

        The first clause should match the fewest rows.
        """
        ids = self._select_related(related, key, clauses)
        query = select_rows(table, (), order, limit, only).where(self._owned(table), table.c.id.in_(ids))
        return self._connection.execute(query).all()

    def related_ids(self, related: Table, key: str, clauses: Sequence[ColumnElement[bool]], *, limit: int) -> list[str]:
        """The ids in the column `key` of a table with a row for every clause; the rows that they name are not read."""
        query = self._select_related(related, key, clauses).distinct().limit(limit)
        return list(self._connection.execute(query).scalars())

    def _select_related(self, related: Table, key: str, clauses: Sequence[ColumnElement[bool]]) -> Select[Any]:
        first, *others = (check_clauses(related, [clause])[0] for clause in clauses)
        ids = select(related.c[key]).where(self._owned(related), first)
        for clause in others:
            other = related.alias()
            is_same = other.c[key] == related.c[key]
            ids = ids.where(exists().where(ClauseAdapter(other).traverse(and_(self._owned(related), clause)), is_same))
        return ids

    def max_value(self, table: Table, column: str, *where: ColumnElement[bool]) -> int | None:
        """The largest value of a column; None where there is no row."""
        query = select(func.max(table.c[column])).where(self._owned(table), *check_clauses(table, where))
        found = self._connection.execute(query).scalar_one()
        return None if found is None else int(found)

    def sum_values(self, table: Table, number: ColumnElement[int], *where: ColumnElement[bool]) -> int:
        """The sum of a column, or of an expression over the columns of a row."""
        query = select(func.coalesce(func.sum(*check_clauses(table, [number])), 0))
        query = query.where(self._owned(table), *check_clauses(table, where))
        return int(self._connection.execute(query).scalar_one())

    def series(self) -> ReadTransaction | None:
        """The series of the transaction's project, at the same moment; None where it belongs to none."""
        series_id = self._series_id()
        return None if series_id is None else ReadTransaction(self._connection, {"project": series_id})

    def _series_id(self) -> str | None:
        """The id in the project's own row, if it is that of a series: nothing else gives access to another project."""
        own = self.row(projects)
        if own is None or own.series_id is None:
            return None
        other = ReadTransaction(self._connection, {"project": own.series_id}).row(projects)
        return str(own.series_id) if other is not None and other.kind == "series" else None

    def current_time(self) -> str:
        """The current time by the clock that all processes on the store share: the server's, or this machine's."""
        if self._connection.dialect.name == "postgresql":
            return str(self._connection.execute(_SERVER_TIME).scalar_one())
        return current_timestamp()

    def has_owner(self, kind: OwnerKind) -> bool:
        """Whether this transaction belongs to a project, or to a user."""
        return kind in self._owners

    def owner_id(self, kind: OwnerKind) -> str:
        """The id of an owner; empty where this transaction belongs to none of that kind."""
        return self._owners.get(kind, "")

    def version(self, kind: OwnerKind) -> int:
        """The current version of an owner."""
        rows = SELECT_VERSION.execute(self._connection, {"owner_name": self._owner(kind)})
        return int(rows[0].version) if rows else 0

    def changes(self, kind: OwnerKind, after: int) -> list[Change] | None:
        """What changed since a version; None where the feed does not reach back that far."""
        owner = {"owner_name": self._owner(kind)}
        found = SELECT_LATEST.execute(self._connection, owner)
        version, latest = (found[0].version, found[0].latest) if found else (0, "")
        if version == after:
            return []
        older: Sequence[Any] = ()
        if after < version - count_versions(latest):
            older = SELECT_CHANGES.execute(self._connection, {**owner, "after": after})
        newer = (row for row in decode_lines(version, latest) if row.version > after)
        rows = [Change(row.version, row.room, row.item) for row in (*older, *newer)]
        return rows if len({row.version for row in rows}) == version - after else None

    def _owner(self, kind: OwnerKind) -> str:
        owner = self._owners.get(kind)
        if owner is None:
            raise _no_owner(kind)
        return f"{kind}:{owner}"

    def _owned(self, table: Table) -> ColumnElement[bool]:
        """The clause for the owner's rows: it decides whose rows a query reaches; prepared ones have a parameter."""
        return table.c[table_info(table).owner_column] == self._owner_id(table)

    def _owner_id(self, table: Table) -> str:
        kind = table_info(table).owner
        owner = self._owners.get(kind)
        if owner is None:
            raise _no_owner(kind)
        return owner

    def _key_clauses(self, table: Table, key: Mapping[str, object]) -> Sequence[ColumnElement[bool]]:
        check_texts(key)
        return check_clauses(table, [table.c[name] == value for name, value in key.items()])


class WriteTransaction(ReadTransaction):
    """A change of the rows of its owners; all of it is stored, or nothing."""

    def __init__(self, connection: Connection, owners: Mapping[OwnerKind, str]) -> None:
        super().__init__(connection, owners)
        self._changes: dict[OwnerKind, dict[tuple[str, str], None]] = {}
        self._items: dict[str, dict[str, None]] = {}
        self._returned: dict[tuple[str, str], Row[Any]] = {}  # by table and item
        self.versions: dict[OwnerKind, int] = {}
        self.is_restoring = False  # rows that this store had before, of any length
        self.recorder: ChangeRecorder | None = None  # of rows as they were, so that the change can be undone
        self.undo_label: Sentence | None = None  # what was done, where the change can be undone
        self.series_transactions: dict[str, WriteTransaction] = {}  # by series: committed with this one
        self.events: list[object] = []  # that subscribers get after the commit

    def series(self) -> WriteTransaction | None:
        """The series of the transaction's project, changed in the same commit; None where it belongs to none."""
        series_id = self._series_id()
        return None if series_id is None else self.open_series(series_id)

    def of_project(self) -> ReadTransaction:
        """The same moment without the user's rows."""
        return ReadTransaction(self._connection, {"project": self._owners["project"]})

    def open_series(self, series_id: str) -> WriteTransaction:
        """The transaction of a series, committed with this one: of the project's own, or of one in its undo steps."""
        tx = self.series_transactions.get(series_id)
        if tx is None:
            tx = self.series_transactions[series_id] = WriteTransaction(self._connection, {"project": series_id})
            tx.lock_owners()
            tx.is_restoring = self.is_restoring
            tx.recorder = None if self.recorder is None else type(self.recorder)()
        return tx

    def lock_owners(self, *, books: Sequence[str] = ()) -> None:
        """Wait for the owners' locks: writers of one owner run one after the other, so that versions have no gaps.

        Everybody locks in one order, so that no two writers wait for each other: the person, then `books` by their ids,
        then the project. The series of a book come last, by their ids. SQLite has one lock, which is taken already.
        """
        if self._connection.dialect.name == "sqlite":
            return
        names = [f"project:{book}" for book in sorted(books)]
        if self.has_owner("user"):
            names.insert(0, self._owner("user"))
        if self.has_owner("project"):
            names.append(self._owner("project"))
        for owner in names:
            if not LOCK_VERSION.execute(self._connection, {"owner_name": owner}):
                self._insert_version(owner)
                LOCK_VERSION.execute(self._connection, {"owner_name": owner})

    def create_series(self, series_id: str, row: Mapping[str, Any]) -> WriteTransaction:
        """Create a series in the same commit, and let the transaction's project belong to it."""
        tx = self.open_series(series_id)
        tx.insert(projects, {**row, "kind": "series", "series_id": None, "book_order": []})
        self.update_rows(projects, {"series_id": series_id})
        return tx

    def insert(self, table: Table, *rows: Mapping[str, Any]) -> None:
        """Insert rows; a missing column gets its default, and a project its number and its slug in this store."""
        if table is projects:
            self._give_number()
            self._give_slug(str(rows[0].get("title", "")))
        info = table_info(table)
        owner_id = self._owner_id(table)
        for row in rows:
            self._check_values(table, row)
        if self.recorder is not None:
            self.recorder.before_insert(table, rows)
        for _, batch in groupby(rows, key=lambda row: row.keys()):  # one statement for rows with the same columns
            insert_rows(self._connection, table, owner_id, list(batch))
        for row in rows:
            self._record_row_change(table, row.get(info.item or ""))

    def _give_number(self) -> None:
        """Give the project the next number of the store, unless it was here before and has one."""
        numbered = owner_versions.c.owner == self._owner("project")
        if self._connection.execute(select(owner_versions.c.number).where(numbered)).scalar():
            return
        for owner in (self._owner("project"), PROJECT_NUMBERS):
            self._insert_version(owner)
        query = update(owner_versions).where(owner_versions.c.owner == PROJECT_NUMBERS)
        query = query.values(number=owner_versions.c.number + 1).returning(owner_versions.c.number)
        number = self._connection.execute(query).scalar_one()
        self._connection.execute(update(owner_versions).where(numbered).values(number=number))

    def _give_slug(self, title: str) -> None:
        """Give the project a slug by its title, unless it was here before and no other project has its slug now.

        Whoever gives one holds the lock of the numbers, so that no two projects get the same.
        """
        LOCK_VERSION.execute(self._connection, {"owner_name": PROJECT_NUMBERS})
        own = owner_versions.c.owner == self._owner("project")
        before = self._connection.execute(select(owner_versions.c.slug).where(own)).scalar()
        slugs = chain([before] if before else [], list_project_slugs(title))
        self.set_slug(next(slug for slug in slugs if not self._is_taken(slug)))

    def set_slug(self, slug: str) -> None:
        """Give the project a slug that no other project has."""
        own = owner_versions.c.owner == self._owner("project")
        self._connection.execute(update(owner_versions).where(own).values(slug=slug))

    def _is_taken(self, slug: str) -> bool:
        """Return whether another project has a slug; one that was deleted has none."""
        is_other = owner_versions.c.owner == literal("project:") + projects.c.project_id
        query = select(projects.c.project_id).join(owner_versions, is_other)
        query = query.where(owner_versions.c.slug == slug, owner_versions.c.owner != self._owner("project"))
        return self._connection.execute(query.limit(1)).first() is not None

    def update_row(
        self, table: Table, key: Mapping[str, object], values: Mapping[str, Any], *, expected: int | None = None
    ) -> int:
        """Change a row that has a version; return its new version. A stale `expected` version is refused."""
        self._check_values(table, values)
        clauses = self._key_clauses(table, key)
        if self.recorder is not None:
            self.recorder.before_update(self, table, clauses)
        query = update(table).where(self._owned(table), *clauses)
        if expected is not None:
            query = query.where(table.c.version == expected)
        info = table_info(table)
        query = query.values(**values, version=table.c.version + 1)
        changed = self._connection.execute(query.returning(table.c.version, table.c[info.item or "version"])).first()
        if changed is None:
            current = self.row(table, **key)
            if current is None:
                raise row_missing(table, key)
            raise FabulaError(
                info.conflict_code,
                message(
                    "This was changed elsewhere in the meantime: it has version {current} now, you have {expected}. "
                    "Load the newer version and try again. Nothing was changed.",
                    current=current.version,
                    expected=expected,
                ),
                current=current.version,
                expected=expected,
            )
        self._record_row_change(table, changed[1] if info.item is not None else "")
        return int(changed[0])

    def change_row(
        self, table: Table, key: dict[str, Any], values: dict[str, Any], *, returned: tuple[str, ...] = ()
    ) -> bool:
        """Change a row by its key, without a check of versions; return whether there is one.

        Whoever needs these `returned` columns of it later in the transaction gets them from `changed_row`.
        """
        check_texts(key)
        self._check_values(table, values)
        if self.recorder is not None:
            self.recorder.before_update(self, table, self._key_clauses(table, key))
        changed = update_by_key(self._connection, table, self._owner_id(table), key, values, returned)
        if changed is not None:
            self._record_row_change(table, changed[0] if table_info(table).item is not None else "")
            if returned:
                self._returned[table.name, str(changed[0])] = changed
        return changed is not None

    def changed_row(self, table: Table, item: str) -> Row[Any] | None:
        """What the last change of an item of a table returned of its row; None where it returned nothing."""
        return self._returned.get((table.name, item))

    def update_rows(self, table: Table, values: Mapping[str, Any], *where: ColumnElement[bool]) -> int:
        """Change all matching rows, without a check of versions; return how many."""
        self._check_values(table, values)
        if self.recorder is not None:
            self.recorder.before_update(self, table, where)
        query = update(table).where(self._owned(table), *check_clauses(table, where)).values(**values)
        return self._execute_recording(table, query)

    def update_each(
        self, table: Table, values_by_key: Mapping[tuple[Any, ...], Mapping[str, Any]], *, raise_version: bool = False
    ) -> None:
        """Change rows by their keys, each to values of its own; all change the same columns."""
        keys = list(values_by_key)
        if not keys:
            return
        columns = key_columns(table)
        query = update(table).where(
            self._owned(table), *(column == bindparam(f"key_{column.name}") for column in columns)
        )
        query = query.values({name: bindparam(f"new_{name}") for name in values_by_key[keys[0]]})
        if raise_version:
            query = query.values(version=table.c.version + 1)
        info = table_info(table)
        for start in range(0, len(keys), _BATCH):
            batch = keys[start : start + _BATCH]
            matching = match_keys(table, batch)
            if self.recorder is not None:
                self.recorder.before_update(self, table, matching)
            rows: list[dict[str, Any]] = []
            for key in batch:
                self._check_values(table, values_by_key[key])
                by_column = {f"key_{column.name}": value for column, value in zip(columns, key, strict=True)}
                rows.append(by_column | {f"new_{name}": value for name, value in values_by_key[key].items()})
            self._connection.execute(query, rows)
            for (item,) in self.rows(table, *matching, only=[info.item or info.owner_column]):
                self._record_row_change(table, item if info.item is not None else "")

    def delete_rows(self, table: Table, *where: ColumnElement[bool]) -> int:
        """Delete all matching rows; return how many."""
        if self.recorder is not None:
            self.recorder.before_delete(self, table, where)
        return self._execute_recording(table, delete(table).where(self._owned(table), *check_clauses(table, where)))

    def _check_values(self, table: Table, values: Mapping[str, Any]) -> None:
        """Refuse values that give a row to another owner, that use another table, or that no save could hold."""
        info = table_info(table)
        if info.owner_column in values and values[info.owner_column] != self._owners.get(info.owner):
            raise scope_violation(f"a row of {table.name} cannot be given to another {info.owner}")
        for name, value in values.items():
            kind = type(value)
            if kind in _UNCHECKED or (
                kind is str and value.isascii() and len(value) <= MAX_SHORT_TEXT and "\x00" not in value
            ):
                continue
            if isinstance(value, _CHECKED):
                check_text(name, value)
                if not self.is_restoring and (len(value) > MAX_SHORT_TEXT or name in list_bounded_columns(table)):
                    _check_length(table, name, value)
            elif isinstance(value, ClauseElement):
                check_clauses(table, [value])

    def _execute_recording(self, table: Table, query: Any) -> int:
        """Execute a query, record which items it changed, and return the number of rows."""
        info = table_info(table)
        rows = self._connection.execute(query.returning(table.c[info.item or info.owner_column])).all()
        for (item,) in rows:
            self._record_row_change(table, item if info.item is not None else "")
        return len(rows)

    def record_change(self, kind: OwnerKind, area: str, item: str = "") -> None:
        """Record a change in the feed that no row of the owner's tables shows."""
        self._changes.setdefault(kind, {})[area, item] = None

    def _record_row_change(self, table: Table, item: object) -> None:
        info, name = table_info(table), "" if item is None else str(item)
        self._items.setdefault(table.name, {})[name] = None
        if self._returned:
            self._returned.pop((table.name, name), None)
        if info.tracked:
            self.record_change(info.owner, info.area, name)

    def changed_items(self, table: Table) -> list[str]:
        """The items of a table that this transaction has changed so far."""
        return list(self._items.get(table.name, ()))

    def write_feed(self) -> None:
        """Raise the owners' versions and write the change feed: the last step before the commit."""
        for kind, changed in self._changes.items():
            owner, at = self._owner(kind), current_timestamp()
            raised = self._raise_version(owner, at, encode_line(at, changed))
            self.versions[kind] = raised.version
            if len(raised.latest) > MAX_LATEST:
                self._extend_feed(owner, raised.version, raised.latest)
            if kind == "project" and self._connection.dialect.name == "postgresql":
                self._connection.execute(NOTIFY)

    def _raise_version(self, owner: str, at: str, line: str) -> Row[Any]:
        values = {"owner_name": owner, "at": at, "line": line}
        rows = RAISE_VERSION.execute(self._connection, values)
        if not rows:  # the first change of this owner
            self._insert_version(owner)
            rows = RAISE_VERSION.execute(self._connection, values)
        return rows[0]

    def _extend_feed(self, owner: str, version: int, latest: str) -> None:
        """Make rows of the change feed of the changes that are kept beside the version."""
        rows = [{"owner": owner, **msgspec.structs.asdict(row)} for row in decode_lines(version, latest)]
        INSERT_CHANGES.execute_each(self._connection, rows)
        CLEAR_LATEST.execute(self._connection, {"owner_name": owner})
        before = version - count_versions(latest)
        if version // _PRUNE_EVERY > before // _PRUNE_EVERY:
            DELETE_CHANGES.execute(self._connection, {"owner_name": owner, "until": version - FEED_LENGTH})

    def _insert_version(self, owner: str) -> None:
        """Give an owner a version, unless it has one."""
        dialect = import_module(f"sqlalchemy.dialects.{self._connection.dialect.name}")  # each takes a while to import
        last = select(func.coalesce(func.max(owner_versions.c.number), 0)).scalar_subquery()
        number = last if owner == PROJECT_NUMBERS else 0
        query = dialect.insert(owner_versions).values(owner=owner, version=0, number=number)
        self._connection.execute(query.on_conflict_do_nothing())


def _no_owner(kind: OwnerKind) -> FabulaError:
    return scope_violation(f"this transaction belongs to no {kind}")


def row_missing(table: Table, key: Mapping[str, object]) -> FabulaError:
    """The coded error for a row that does not exist."""
    info = table_info(table)
    name = ", ".join(str(value) for value in key.values()) or info.owner
    return FabulaError(
        info.missing_code, message("There is no {name!r} here, or not any more. Nothing was changed.", name=name)
    )


def _check_length(table: Table, name: str, value: Any) -> None:
    """Refuse names, titles and other texts that no save could hold."""
    text: str | None
    most: int | None
    if name in list_bounded_columns(table):
        text, most = find_long_text(value, MAX_LONG_TEXT), MAX_LONG_TEXT
    elif isinstance(value, str) and len(value) > MAX_SHORT_TEXT:
        text, most = value, max_characters(table.c[name])
    else:
        return
    if text is not None and most is not None and len(text) > most:
        shown = f"{text[:40]}…"
        sentence = message(
            "{text!r} is too long: a name or a title has {most:,} characters at most. Nothing was changed.",
            text=shown,
            most=most,
        )
        if most > MAX_SHORT_TEXT:
            sentence = message(
                "{text!r} is too long: such a text has {most:,} characters at most. Nothing was changed.",
                text=shown,
                most=most,
            )
        raise FabulaError(Code.TEXT_INVALID, sentence)


def _is_json(value: object) -> bool:
    try:
        msgspec.json.encode(value)
    except (UnicodeEncodeError, msgspec.MsgspecError, TypeError):
        return False
    return True


def check_texts(values: Mapping[str, Any]) -> None:
    """Refuse text that a database cannot store."""
    for name, value in values.items():
        check_text(name, value)


def check_text(name: str, value: object) -> None:
    """Refuse a text, or JSON with one, that a database cannot store."""
    if isinstance(value, str):
        is_storable = "\x00" not in value and is_encodable(value)
    else:
        is_storable = not isinstance(value, _CHECKED) or _is_json(value)
    if not is_storable:
        raise FabulaError(
            Code.TEXT_INVALID,
            message(
                "{name!r} holds a character that cannot be stored (a null, or half of a surrogate pair). "
                "Remove it and try again. Nothing was changed.",
                name=name,
            ),
        )
