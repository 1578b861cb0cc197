"""Health checks of a store, for `fabula doctor`.

The checks look at the engine, the version of the tables, integrity, the change feed, disk space and backups, and say
what would be lost if the disk failed now.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from msgspec import Struct
from sqlalchemy import func, select, text

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, join_names, message, plural
from fabula.store.backup import BACKUP_FOLDER, list_backups
from fabula.store.database_errors import translate_errors
from fabula.store.store import Store
from fabula.store.tables import changes, owner_versions
from fabula.store.upgrade import LATEST_VERSION, find_schema_version

LOW_DISK_SPACE = 1 << 30  # bytes


class HealthState(StrEnum):
    """The result of one check."""

    HEALTHY = "well"
    WARNING = "mind"
    FAILED = "ill"


CheckResult = tuple[HealthState, Sentence]


class HealthFinding(Struct, frozen=True):
    """One check, its result, and a sentence about it."""

    name: str
    state: HealthState
    sentence: Sentence

    @property
    def is_failure(self) -> bool:
        """Is something broken?"""
        return self.state is HealthState.FAILED

    @property
    def is_warning(self) -> bool:
        """Is something to be looked after?"""
        return self.state is HealthState.WARNING


def examine(store: Store) -> Iterator[HealthFinding]:
    """Run every check; one that cannot be run counts as failed, with the reason."""
    for name, check in CHECKS.items():
        try:
            with translate_errors():
                state, sentence = check(store)
        except FabulaError as error:
            if error.code is Code.STORE_UNREACHABLE:
                raise
            state, sentence = HealthState.FAILED, error.message
        yield HealthFinding(name, state, sentence)


def _check_engine(store: Store) -> CheckResult:
    with store.engine.connect() as connection:
        if store.file is None:
            version = connection.execute(text("SHOW server_version")).scalar_one()
            return HealthState.HEALTHY, message("PostgreSQL {version}", version=version)
        version = connection.execute(text("SELECT sqlite_version()")).scalar_one()
        journal = connection.execute(text("PRAGMA journal_mode")).scalar_one()
        synchronous = connection.execute(text("PRAGMA synchronous")).scalar_one()
    safe = journal == "wal" and synchronous == 2
    return HealthState.HEALTHY if safe else HealthState.FAILED, message(
        "SQLite {version}, journal {journal}, synchronous {synchronous}",
        version=version,
        journal=journal,
        synchronous=synchronous,
    )


def _check_tables(store: Store) -> CheckResult:
    with store.engine.connect() as connection:
        found = find_schema_version(connection)
    if found == LATEST_VERSION:
        return HealthState.HEALTHY, message("version {version}", version=found)
    if found is None:
        return HealthState.FAILED, message("This database has no tables of Fabula.")
    if found > LATEST_VERSION:
        sentence = message(
            "version {version}; this program knows {latest}. Use the newer program.",
            version=found,
            latest=LATEST_VERSION,
        )
    else:
        sentence = message(
            "version {version}; this program knows {latest}. Any other command upgrades the store.",
            version=found,
            latest=LATEST_VERSION,
        )
    return HealthState.FAILED, sentence


def _check_integrity(store: Store) -> CheckResult:
    if store.file is None:
        return HealthState.HEALTHY, message("The database server checks this itself.")
    with store.engine.connect() as connection:
        problems = [str(row[0]) for row in connection.execute(text("PRAGMA integrity_check(5)"))]
        orphans = len(connection.execute(text("PRAGMA foreign_key_check")).all())
    if problems == ["ok"] and not orphans:
        return HealthState.HEALTHY, message("All pages and references are sound.")
    return HealthState.FAILED, plural(
        orphans,
        "{problems}; {count} broken reference. Restore the newest backup.",
        "{problems}; {count} broken references. Restore the newest backup.",
        problems=" ".join("; ".join(problems).split())[:300],
    )


def _check_feed(store: Store) -> CheckResult:
    """Check that the version of every owner is the last one in the change feed."""
    newest = select(changes.c.owner, func.max(changes.c.version).label("last")).group_by(changes.c.owner).subquery()
    query = select(owner_versions.c.owner, owner_versions.c.version, newest.c.last).outerjoin(
        newest, owner_versions.c.owner == newest.c.owner
    )
    with store.engine.connect() as connection:
        rows = connection.execute(query).all()
    inconsistent = [row.owner for row in rows if row.version != (row.last or 0)]
    if inconsistent:
        return HealthState.FAILED, message(
            "The version and the change feed differ for {owners}.", owners=join_names(inconsistent[:5])
        )
    return HealthState.HEALTHY, plural(
        len(rows), "{count} version agrees with its change feed.", "{count} versions agree with their change feeds."
    )


def _check_disk(store: Store) -> CheckResult:
    folder = store.folder
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    files = [] if store.file is None else [store.file, Path(f"{store.file}-wal")]
    size = sum(file.stat().st_size for file in files if file.exists())
    state = HealthState.HEALTHY if free > max(LOW_DISK_SPACE, size) else HealthState.WARNING
    if not size:
        return state, message("{free} are free.", free=_format_bytes(free))
    return state, message(
        "The store takes {size}; {free} are free.", size=_format_bytes(size), free=_format_bytes(free)
    )


def _check_backups(store: Store) -> CheckResult:
    """Say what would be lost with the disk: everything that changed since the newest backup."""
    copies = (
        list_backups(store.file) if store.file is not None else sorted((store.folder / BACKUP_FOLDER).glob("*.fabula"))
    )
    if not copies:
        return HealthState.WARNING, message(
            "There is no backup: if this disk fails, everything is lost. Make one with `fabula save`."
        )
    newest = max(copies, key=lambda copy: copy.stat().st_mtime)
    made = datetime.fromtimestamp(newest.stat().st_mtime, UTC)
    summary = message(
        "{copies} in {folder}/, the newest is {name} of {time} UTC",
        copies=len(copies),
        folder=newest.parent.name,
        name=newest.name,
        time=f"{made:%Y-%m-%d %H:%M}",
    )
    query = select(func.count()).select_from(changes).where(changes.c.at > made.strftime("%Y-%m-%dT%H:%M:%S"))
    try:
        with translate_errors(), store.engine.connect() as connection:
            since = int(connection.execute(query).scalar_one())
    except FabulaError:
        return HealthState.WARNING, message("{summary}; later changes cannot be read.", summary=summary)
    if not since:
        return HealthState.HEALTHY, message("{summary}; nothing changed since then.", summary=summary)
    return HealthState.HEALTHY if since < 1000 else HealthState.WARNING, plural(
        since,
        "{summary}; if this disk fails, {count} later change is lost.",
        "{summary}; if this disk fails, {count} later changes are lost.",
        summary=summary,
    )


CHECKS: dict[str, Callable[[Store], CheckResult]] = {
    "engine": _check_engine,
    "tables": _check_tables,
    "integrity": _check_integrity,
    "versions": _check_feed,
    "disk": _check_disk,
    "copies": _check_backups,
}


def _format_bytes(size: int) -> str:
    amount = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"
