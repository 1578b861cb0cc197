"""Upgrades: an older store gets the tables of this version when it is opened, after a backup.

The steps are alembic migrations in `migrations/versions`. One query recognises a store that is up to date; alembic is
imported only where there is something to do. The whole upgrade is one transaction. Processes that open one store at
once wait for each other, and the first one upgrades it.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.exc import DBAPIError

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.store.backup import back_up
from fabula.store.connections import begin
from fabula.store.tables import owner_versions

LATEST_VERSION = "0029"
_LOCK = 0x0FAB01A  # the advisory lock of processes that upgrade one PostgreSQL store


def upgrade_store(engine: Engine, *, file: Path | None) -> None:
    """Upgrade the tables of a store to this program's version; a store of a newer version is refused."""
    with engine.connect() as connection:
        version = find_schema_version(connection)
    if version == LATEST_VERSION:
        return
    _check_not_newer(version)
    if version is not None and file is not None:
        back_up(file, reason="before-upgrade")
    with engine.connect() as connection, begin(connection, writing=True):
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        version = find_schema_version(connection)
        if version != LATEST_VERSION:
            _check_not_newer(version)
            _upgrade(connection, version)


def find_schema_version(connection: Connection) -> str | None:
    """The version of a store's tables; None for an empty store."""
    try:
        with connection.begin_nested() if connection.in_transaction() else connection.begin():
            versions = connection.execute(text("SELECT version_num FROM alembic_version")).scalars().all()
    except DBAPIError as error:
        if "alembic_version" in str(error.orig):
            return None
        raise
    if len(versions) == 1:
        return str(versions[0])
    if not versions and not inspect(connection).has_table(owner_versions.name):
        return None
    raise FabulaError(
        Code.STORE_DAMAGED,
        message(
            "This store does not say which version its tables have (it names {count} versions, not one). "
            "Load a backup or a save. Nothing was changed.",
            count=len(versions),
        ),
    )


def _check_not_newer(version: str | None) -> None:
    if version is not None and version > LATEST_VERSION:
        raise FabulaError(
            Code.STORE_TOO_NEW,
            message(
                "A newer Fabula wrote this store (its tables have version {version}; this program knows {latest}). "
                "Use the newer program, or load a save. Nothing was changed.",
                version=version,
                latest=LATEST_VERSION,
            ),
        )


def _upgrade(connection: Connection, version: str | None) -> None:
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
            message(
                "The tables of this store claim version {version}, which does not exist. "
                "Load a backup or a save. Nothing was changed.",
                version=version,
            ),
        ) from error
