"""The store: one database for everything a writer makes, on SQLite or PostgreSQL.

`Store.open` creates, upgrades and backs up the database as needed. All access goes through transactions that belong to
a project, a user or both. Opening a transaction is tried twice where the connection was lost in the meantime.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, Engine, Row, Table, func, literal, select
from sqlalchemy.exc import DBAPIError

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import is_valid_id
from fabula.core.messages import Sentence, message
from fabula.store.all_projects import AllProjectsTransaction
from fabula.store.backup import back_up_daily
from fabula.store.change_signal import ChangeSignal, NotificationSignal, PollSignal
from fabula.store.connections import (
    DATABASE_FILE,
    IdleConnections,
    begin_sqlite,
    commit_sqlite,
    data_folder,
    is_server_url,
    make_postgres_engine,
    make_sqlite_engine,
)
from fabula.store.database_errors import ERRORS, commit_uncertain, is_connection_lost, translate_error, translate_errors
from fabula.store.hooks import Hooks, QueuedEvents
from fabula.store.last_change import LastChangeFile
from fabula.store.precondition import find_notes, note_step, note_versions, run_precondition
from fabula.store.queries import BEGIN_SNAPSHOT, RowQuery
from fabula.store.schema import OwnerKind
from fabula.store.tables import LOCAL_USER as LOCAL_USER  # under which most of the program knows it
from fabula.store.tables import owner_versions, projects
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.store.undo import ChangeRecorder, record_step, stop_recording
from fabula.store.upgrade import upgrade_store
from fabula.store.versions import PostgresVersionReader, SqliteVersionReader, StatementReader, VersionReader

log = logging.getLogger("fabula.store")

_PROJECT = RowQuery(projects, only=("project_id",))


class ExpectedVersions(Struct, frozen=True):
    """The versions of a project, a user and other projects at which something was read."""

    project: str
    by_owner: Mapping[str, int]  # `project:ID` or `user:ID`


def expect_versions(project: str, user: str, others: Sequence[str], versions: Sequence[int]) -> ExpectedVersions:
    """Return the versions that `Store.versions` has read, as those to expect."""
    return ExpectedVersions(project, dict(zip(_name_owners(project, user, others), versions, strict=True)))


class Store:
    """An open store. Threads can share it."""

    def __init__(self, engine: Engine, version_reader: VersionReader, *, folder: Path, file: Path | None) -> None:
        self._engine = engine
        self._idle = IdleConnections(engine)
        self._is_closed = False
        self.folder = folder  # of backups and other files on this machine
        self.file = file
        self.last_change = LastChangeFile(file) if file is not None else None
        self.hooks = Hooks()
        self._before_close: list[Callable[[], None]] = []
        self._version_reader = version_reader

    @classmethod
    def open(cls, where: str | Path | None = None, *, inspect_only: bool = False) -> Store:
        """Open a data folder, a database file, a PostgreSQL server, or the user's usual data folder.

        The store is created, upgraded and backed up as needed; with `inspect_only` none of that is done.
        """
        if where is not None and is_server_url(str(where)):
            engine = make_postgres_engine(str(where))
            store = cls(engine, PostgresVersionReader(engine), folder=data_folder(), file=None)
        else:
            path = data_folder() if where is None else Path(where)
            file = path if path.suffix == ".db" else path / DATABASE_FILE
            if inspect_only and not file.exists():
                raise FabulaError(
                    Code.STORE_NOT_FOUND, message("There is no store at {file} yet. Nothing was changed.", file=file)
                )
            engine = make_sqlite_engine(file)
            store = cls(engine, SqliteVersionReader(file, engine.dialect), folder=file.parent, file=file)
        if inspect_only:
            return store
        try:
            with translate_errors():
                upgrade_store(store.engine, file=store.file)
            if store.last_change is not None and (missing := store.last_change.count_missing()):
                log.warning(
                    "at least %d of the latest changes are missing from this store: see `fabula doctor`", missing
                )
            if store.file is not None and store.project_ids():
                _try_daily_backup(store.file)
        except BaseException:
            store.close()
            raise
        return store

    @property
    def engine(self) -> Engine:
        """The engine of the open store; refused once the store was closed."""
        self.require_open()
        return self._engine

    def require_open(self) -> None:
        """Refuse to use a store that was closed: SQLAlchemy would connect anew."""
        if self._is_closed:
            raise FabulaError(Code.STORE_CLOSED, message("The store was closed. Open it again. Nothing was changed."))

    def before_close(self, action: Callable[[], None]) -> None:
        """Call an action when the store is about to be closed, to write what is still queued."""
        self._before_close.append(action)

    def close(self) -> None:
        """Close every connection; whatever uses the store after that is refused."""
        while self._before_close:
            self._before_close.pop()()
        self._is_closed = True
        self._version_reader.close()
        self._idle.close()
        self._engine.dispose()

    def versions(self, *, project: str, user: str = LOCAL_USER, others: Sequence[str] = ()) -> tuple[int, ...]:
        """The versions of a project, a user and other projects: the only query of a warm request."""
        self.require_open()
        return tuple(self._version_reader.read(_name_owners(project, user, others)))

    def find_value(self, queries: Sequence[RowQuery], expected: ExpectedVersions, **values: object) -> tuple[bool, Any]:
        """Whether a project, on SQLite, is at the expected versions, and what the first of some queries finds there.

        Each query selects one column of one row. One statement does both, so that a warm request executes no other.
        """
        self.require_open()
        assert isinstance(self._version_reader, SqliteVersionReader)
        owners = [*expected.by_owner]
        versions, value = self._version_reader.read_with_value(owners, queries, expected.project, values)
        return versions == [*expected.by_owner.values()], value

    def has_versions(self, versions: Mapping[str, int]) -> bool:
        """Whether owners (`project:ID`, `user:ID`) still have these versions."""
        self.require_open()
        return list(self._version_reader.read([*versions])) == [*versions.values()]

    def read_statements(self, *, project: str) -> StatementReader:
        """Read rows of a project in a warm request, each query by itself: without the cost of a transaction."""
        self.require_open()
        return StatementReader(self._version_reader, project)

    def has_project(self, project_id: str) -> bool:
        """Whether a project has this id."""
        return is_valid_id(project_id) and bool(self.read_statements(project=project_id).query(_PROJECT))

    def open_change_signal(self) -> ChangeSignal:
        """What waits until projects may have changed, here or in another process."""
        return NotificationSignal(self.engine) if self.file is None else PollSignal()

    def project_ids(self) -> list[str]:
        """The ids of all projects."""
        with self._transaction() as connection:
            return list(connection.execute(select(projects.c.project_id).order_by(projects.c.project_id)).scalars())

    def project_rows(self, project: str | None = None, *, slug: str | None = None) -> Sequence[Row[Any]]:
        """Return the row of every project, or of one, with its number and slug; nothing else of them is read.

        One project is named by its id or by its slug.
        """
        own = owner_versions.c.owner == literal("project:") + projects.c.project_id
        number = func.coalesce(owner_versions.c.number, 0).label("number")
        own_slug = func.coalesce(owner_versions.c.slug, "").label("slug")
        query = select(projects, number, own_slug).outerjoin(owner_versions, own)
        query = query.order_by(projects.c.changed.desc(), projects.c.project_id)
        if project is not None:
            query = query.where(projects.c.project_id == project)
        if slug is not None:
            query = query.where(owner_versions.c.slug == slug)
        with self._transaction() as connection:
            return connection.execute(query).all()

    def last_changes(self) -> dict[str, str]:
        """The time of the last change of each project, by id."""
        with self._transaction() as connection:
            found = connection.execute(select(owner_versions.c.owner, owner_versions.c.changed)).all()
        return {owner.removeprefix("project:"): at for owner, at in found if owner.startswith("project:")}

    @contextmanager
    def read(self, *, project: str | None = None, user: str | None = None) -> Iterator[ReadTransaction]:
        """A consistent read: everything read inside the block is of one moment."""
        with self._transaction(consistent=True) as connection:
            yield ReadTransaction(connection, _owners(project, user))

    @contextmanager
    def write(
        self,
        *,
        project: str | None = None,
        user: str | None = None,
        undo_label: Sentence | None = None,
        books: Sequence[str] = (),
    ) -> Iterator[WriteTransaction]:
        """A change: when the block ends without an error, it is on disk, with the new version and the change feed.

        With `undo_label`, which says what was done, the change can be undone. A change of a series that changes rows of
        its books too names these `books`, which are locked before it.
        """
        self.hooks.prepare_write()
        owners = _owners(project, user)
        queued = QueuedEvents([])
        try:
            with self._transaction(owners, writing=True, books=books) as connection:
                run_precondition()
                tx = WriteTransaction(connection, owners)
                tx.undo_label = undo_label
                tx.recorder = ChangeRecorder() if undo_label is not None else None
                yield tx
                all_transactions = (tx, *tx.series_transactions.values())
                recorders = stop_recording(tx)
                for one in all_transactions:
                    self.hooks.run_before_commit(one)
                step = None if tx.undo_label is None else record_step(tx, recorders, tx.undo_label)
                for one in all_transactions:
                    one.write_feed()
                for person, note in find_notes():
                    note(WriteTransaction(connection, {"user": person}))
                queued = self.hooks.queue_events(all_transactions)
        except BaseException:
            self.hooks.withdraw_events(queued)
            raise
        if step is not None and project is not None:
            note_step(project, step)
        for one in all_transactions:
            versions = {f"{kind}:{one.owner_id(kind)}": number for kind, number in one.versions.items()}
            note_versions(versions)
            if self.last_change is not None:
                self.last_change.write(versions)
        for one in all_transactions:
            self.hooks.run_after_commit(one)
        self.hooks.tell_events(queued)

    @contextmanager
    def all_projects(self, table: Table, *, writable: bool = False) -> Iterator[AllProjectsTransaction]:
        """The rows of all owners in a table that allows it, for workers; no owner is locked."""
        with self._transaction(writing=writable) as connection:
            yield AllProjectsTransaction(connection, table)

    @contextmanager
    def _transaction(
        self,
        owners: Mapping[OwnerKind, str] | None = None,
        *,
        writing: bool = False,
        consistent: bool = False,
        books: Sequence[str] = (),
    ) -> Iterator[Connection]:
        """A connection with a transaction begun; it is committed where the block raises nothing.

        The owners, if there are any, are locked, and these books before them.
        """
        is_repeatable = consistent and self.file is None  # on SQLite, every transaction is
        try:
            connection = self._begin(owners, writing, is_repeatable, books)
            try:
                yield connection
                self._commit(connection)
            except BaseException:
                connection.close()  # rolls back whatever was not committed
                raise
        except ERRORS as error:
            raise translate_error(error) from error
        if is_repeatable or self._is_closed:
            connection.close()  # the pool resets the isolation level
        else:
            self._idle.give_back(connection)

    def _commit(self, connection: Connection) -> None:
        if self.file is not None:
            commit_sqlite(connection)
            return
        try:
            connection.commit()
        except DBAPIError as error:
            if is_connection_lost(error):
                raise commit_uncertain() from error
            raise

    def _begin(
        self, owners: Mapping[OwnerKind, str] | None, writing: bool, is_repeatable: bool, books: Sequence[str]
    ) -> Connection:
        """Begin a transaction; once more where the connection was lost since it was last used."""
        for last in (False, True):
            self.require_open()
            connection = self._idle.take()
            try:
                if self.file is not None:
                    begin_sqlite(connection, writing=writing)
                else:
                    if is_repeatable:
                        connection.execution_options(isolation_level="REPEATABLE READ")
                    connection.begin()
                    if owners is not None:
                        WriteTransaction(connection, owners).lock_owners(books=books)
                if owners is None:  # the snapshot is taken at the first query
                    BEGIN_SNAPSHOT.execute(connection, {})
            except BaseException as error:
                connection.close()
                if last or not (isinstance(error, DBAPIError) and is_connection_lost(error)):
                    raise
                self._idle.close()  # which are as old
                self.engine.dispose()
            else:
                break
        return connection


def _try_daily_backup(file: Path) -> None:
    """Back the store up; one that cannot be copied can still be used, and `fabula doctor` says so."""
    try:
        back_up_daily(file)
    except FabulaError as error:
        log.warning("no backup was made: %s", error.code.value)


def _name_owners(project: str, user: str, others: Sequence[str]) -> list[str]:
    return [f"project:{project}", f"user:{user}", *[f"project:{other}" for other in others]]


def _owners(project: str | None, user: str | None) -> Mapping[OwnerKind, str]:
    owners: dict[OwnerKind, str] = {} if project is None else {"project": project}
    if user is not None:
        owners["user"] = user
    return owners
