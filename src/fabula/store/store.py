"""The store: one place for everything a writer makes, on SQLite or PostgreSQL."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, Table, select
from sqlalchemy.exc import DBAPIError

from fabula.core.errors import Code, FabulaError
from fabula.store.all_projects import Across
from fabula.store.backup import back_up_daily
from fabula.store.connections import FILE, data_folder, is_address, postgres_engine, sqlite_engine
from fabula.store.database_errors import in_doubt, in_words, lost_connection
from fabula.store.hooks import Following
from fabula.store.schema import OwnerKind
from fabula.store.tables import heads, projects
from fabula.store.transaction import Reading, Writing
from fabula.store.upgrade import migrate
from fabula.store.versions import Heads, ServerHeads, SqliteHeads

log = logging.getLogger("fabula.store")

OWNER = "owner"  # the one person of a local store


class Store:
    """An open store. Threads may share it."""

    def __init__(self, engine: Engine, heads: Heads, *, folder: Path, file: Path | None) -> None:
        self.engine = engine
        self.folder = folder  # where backups and other files of this machine go
        self.file = file
        self.following = Following()
        self._heads = heads

    @classmethod
    def open(cls, where: str | Path | None = None, *, as_it_is: bool = False) -> Store:
        """A data folder, a database file, the address of a PostgreSQL server, or the usual place.

        It is made, brought up to date and copied as needed; `as_it_is` leaves it alone, to be looked at.
        """
        if where is not None and is_address(str(where)):
            engine = postgres_engine(str(where))
            store = cls(engine, ServerHeads(engine), folder=data_folder(), file=None)
        else:
            place = data_folder() if where is None else Path(where)
            file = place if place.suffix == ".db" else place / FILE
            if as_it_is and not file.exists():
                raise FabulaError(Code.STORE_NOT_FOUND, f"There is no store at {file} yet. Nothing was changed.")
            store = cls(sqlite_engine(file), SqliteHeads(file), folder=file.parent, file=file)
        if as_it_is:
            return store
        try:
            with in_words():
                migrate(store.engine, file=store.file)
            if store.file is not None and store.project_ids():
                _copy_daily(store.file)
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Let go of every connection."""
        self._heads.close()
        self.engine.dispose()

    def versions(self, *, project: str, user: str = OWNER, series: str | None = None) -> tuple[int, ...]:
        """At which versions a project, a person and perhaps a series stand: the one query of a warm request."""
        owners = [f"project:{project}", f"user:{user}"]
        return tuple(self._heads(owners if series is None else [*owners, f"project:{series}"]))

    def project_ids(self) -> list[str]:
        """Every project there is."""
        with in_words(), self._begun({}, {}) as (connection, _):
            return list(connection.execute(select(projects.c.project_id).order_by(projects.c.project_id)).scalars())

    @contextmanager
    def read(self, *, project: str | None = None, user: str | None = None) -> Iterator[Reading]:
        """A look at one moment: everything read inside belongs together."""
        options = {} if self.file is not None else {"isolation_level": "REPEATABLE READ"}
        with in_words(), self._begun(options, _owners(project, user)) as (connection, owners):
            yield Reading(connection, owners)

    @contextmanager
    def write(self, *, project: str | None = None, user: str | None = None) -> Iterator[Writing]:
        """A change: when the block ends without an error, it is on the disk, version and feed included."""
        options = {"writing": True}
        with in_words(), self._begun(options, _owners(project, user), lock=True) as (connection, owners):
            writing = Writing(connection, owners)
            yield writing
            self.following.within(writing)
            writing.settle()
        self.following.after(writing)

    @contextmanager
    def across(self, table: Table, *, change: bool = False) -> Iterator[Across]:
        """All owners' rows of a table that allows it, for whoever works for all of them; nobody's turn is taken."""
        with in_words(), self._begun({"writing": change}, {}) as (connection, _):
            yield Across(connection, table)

    @contextmanager
    def _begun(
        self, options: Mapping[str, object], owners: Mapping[OwnerKind, str], *, lock: bool = False
    ) -> Iterator[tuple[Connection, Mapping[OwnerKind, str]]]:
        """A transaction under way; begun once more where the server was away in the meantime."""
        connection = self._begin(options, owners, lock=lock)
        try:
            yield connection, owners
            with in_doubt():
                connection.commit()
        finally:
            connection.close()  # rolls back what was not committed

    def _begin(self, options: Mapping[str, object], owners: Mapping[OwnerKind, str], *, lock: bool) -> Connection:
        for last in (False, True):
            connection = self.engine.connect()
            try:
                connection = connection.execution_options(**options)
                connection.begin()
                if lock:
                    Writing(connection, owners).lock()
                else:
                    connection.execute(select(heads.c.version).limit(1))  # a look begins with its first query
            except BaseException as error:
                connection.close()
                if last or not (isinstance(error, DBAPIError) and lost_connection(error)):
                    raise
            else:
                break
        return connection


def _copy_daily(file: Path) -> None:
    """A store that cannot be copied can still be used; `fabula doctor` says that there is no copy."""
    try:
        back_up_daily(file)
    except FabulaError as error:
        log.warning("no backup was made: %s", error.code.value)


def _owners(project: str | None, user: str | None) -> Mapping[OwnerKind, str]:
    owners: dict[OwnerKind, str] = {}
    if project is not None:
        owners["project"] = project
    if user is not None:
        owners["user"] = user
    return owners
