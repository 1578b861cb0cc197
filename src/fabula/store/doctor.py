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


CheckResult = tuple[HealthState, str]


class HealthFinding(Struct, frozen=True):
    """One check, its result, and a sentence about it."""

    name: str
    state: HealthState
    sentence: str

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
            state, sentence = HealthState.FAILED, error.sentence
        yield HealthFinding(name, state, sentence)


def _check_engine(store: Store) -> CheckResult:
    with store.engine.connect() as connection:
        if store.file is None:
            return HealthState.HEALTHY, f"PostgreSQL {connection.execute(text('SHOW server_version')).scalar_one()}"
        version = connection.execute(text("SELECT sqlite_version()")).scalar_one()
        journal = connection.execute(text("PRAGMA journal_mode")).scalar_one()
        synchronous = connection.execute(text("PRAGMA synchronous")).scalar_one()
    safe = journal == "wal" and synchronous == 2
    return (
        HealthState.HEALTHY if safe else HealthState.FAILED,
        f"SQLite {version}, journal {journal}, synchronous {synchronous}",
    )


def _check_tables(store: Store) -> CheckResult:
    with store.engine.connect() as connection:
        found = find_schema_version(connection)
    if found == LATEST_VERSION:
        return HealthState.HEALTHY, f"version {found}"
    if found is None:
        return HealthState.FAILED, "there are no tables of Fabula here"
    remedy = "use the newer program" if found > LATEST_VERSION else "any other command brings it up to date"
    return HealthState.FAILED, f"version {found}, and this program knows {LATEST_VERSION}: {remedy}"


def _check_integrity(store: Store) -> CheckResult:
    if store.file is None:
        return HealthState.HEALTHY, "the server sees to that"
    with store.engine.connect() as connection:
        problems = [str(row[0]) for row in connection.execute(text("PRAGMA integrity_check(5)"))]
        orphans = len(connection.execute(text("PRAGMA foreign_key_check")).all())
    if problems == ["ok"] and not orphans:
        return HealthState.HEALTHY, "every page and every reference is sound"
    summary = " ".join("; ".join(problems).split())[:300]
    return HealthState.FAILED, f"{summary}; {orphans} broken references: go back to the newest copy"


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
        return HealthState.FAILED, f"version and change feed differ for {', '.join(inconsistent[:5])}"
    return HealthState.HEALTHY, f"{len(rows)} owners stand where their last change says"


def _check_disk(store: Store) -> CheckResult:
    free = shutil.disk_usage(_existing_folder(store.folder)).free
    size = sum(file.stat().st_size for file in _database_files(store))
    sentence = (
        f"the store takes {_format_bytes(size)}, {_format_bytes(free)} are free"
        if size
        else f"{_format_bytes(free)} are free"
    )
    return HealthState.HEALTHY if free > max(LOW_DISK_SPACE, size) else HealthState.WARNING, sentence


def _check_backups(store: Store) -> CheckResult:
    """Say what would be lost with the disk: everything that changed since the newest backup."""
    copies = (
        list_backups(store.file) if store.file is not None else sorted((store.folder / BACKUP_FOLDER).glob("*.fabula"))
    )
    if not copies:
        return HealthState.WARNING, "there is no copy: all of it would be lost with this disk; `fabula save`"
    newest = max(copies, key=lambda copy: copy.stat().st_mtime)
    made = datetime.fromtimestamp(newest.stat().st_mtime, UTC)
    summary = f"{len(copies)} in {newest.parent.name}/, the newest is {newest.name} of {made:%Y-%m-%d %H:%M} UTC"
    query = select(func.count()).select_from(changes).where(changes.c.at > made.strftime("%Y-%m-%dT%H:%M:%S"))
    try:
        with translate_errors(), store.engine.connect() as connection:
            since = int(connection.execute(query).scalar_one())
    except FabulaError:
        return HealthState.WARNING, f"{summary}; what changed since then cannot be read"
    loss = f"{since} changes since then would be lost with this disk" if since else "nothing changed since then"
    return HealthState.HEALTHY if since < 1000 else HealthState.WARNING, f"{summary}; {loss}"


CHECKS: dict[str, Callable[[Store], CheckResult]] = {
    "engine": _check_engine,
    "tables": _check_tables,
    "integrity": _check_integrity,
    "versions": _check_feed,
    "disk": _check_disk,
    "copies": _check_backups,
}


def _database_files(store: Store) -> list[Path]:
    if store.file is None:
        return []
    return [file for file in (store.file, Path(f"{store.file}-wal")) if file.exists()]


def _existing_folder(folder: Path) -> Path:
    while not folder.exists():
        folder = folder.parent
    return folder


def _format_bytes(size: int) -> str:
    amount = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"
