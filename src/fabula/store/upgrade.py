"""Migrations: an older store is brought up to date when it is opened, after a copy was made of it.

The steps are alembic's, in `migrations/versions`. A store that is up to date is recognised by one
query, and alembic is not even imported.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from fabula.core.errors import Code, FabulaError
from fabula.store.backup import back_up

HEAD = "0005"
_LOCK = 0x0FAB01A  # the number of an advisory lock, for those who open one server's store at once


def migrate(engine: Engine, *, file: Path | None) -> None:
    """Bring a store to this program's version."""
    with engine.connect() as connection:
        found = current(connection)
    if found == HEAD:
        return
    _check(found)
    if found is not None and file is not None:
        back_up(file, reason="before-upgrade")
    with engine.connect().execution_options(writing=True) as connection, connection.begin():
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        found = current(connection)
        if found != HEAD:
            _check(found)
            _upgrade(connection, found)


def current(connection: Connection) -> str | None:
    """The version of a store's tables; None for an empty one."""
    try:
        with connection.begin_nested() if connection.in_transaction() else connection.begin():
            return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    except DBAPIError as error:
        if "alembic_version" in str(error.orig):
            return None
        raise


def _check(found: str | None) -> None:
    if found is not None and found > HEAD:
        raise FabulaError(
            Code.STORE_TOO_NEW,
            f"This store was written by a newer Fabula (tables {found}, this program knows {HEAD}). "
            "Use the newer program, or load a save. Nothing was changed.",
        )


def _upgrade(connection: Connection, found: str | None) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise FabulaError(
            Code.STORE_DAMAGED,
            f"This store says that its tables are of version {found}, which never was. "
            "Load a backup or a save. Nothing was changed.",
        ) from error
