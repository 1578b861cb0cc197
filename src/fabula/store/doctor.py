"""The doctor: is everything whole, up to date and copied, and what would be lost if the disk died now?"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from msgspec import Struct
from sqlalchemy import func, select, text

from fabula.store.backup import FOLDER, backups
from fabula.store.faults import in_words
from fabula.store.migrate import HEAD, current
from fabula.store.store import Store
from fabula.store.tables import changes, heads

TIGHT = 1 << 30  # bytes of free disk below which to worry


class State(StrEnum):
    """How something is."""

    WELL = "well"
    MIND = "mind"
    ILL = "ill"


class Finding(Struct, frozen=True):
    """One thing looked at, and what was found."""

    name: str
    state: State
    sentence: str


def examine(store: Store) -> Iterator[Finding]:
    """Look at everything, one thing after the other."""
    yield _engine(store)
    yield _versions(store)
    if store.file is not None:
        yield _whole(store)
    yield _feed(store)
    yield _disk(store)
    yield _copies(store)


def _engine(store: Store) -> Finding:
    with in_words(), store.engine.connect() as connection:
        if store.file is None:
            version = str(connection.execute(text("SHOW server_version")).scalar_one())
            return Finding("engine", State.WELL, f"PostgreSQL {version}")
        version = str(connection.execute(text("SELECT sqlite_version()")).scalar_one())
        journal = connection.execute(text("PRAGMA journal_mode")).scalar_one()
        synchronous = connection.execute(text("PRAGMA synchronous")).scalar_one()
    safe = journal == "wal" and synchronous == 2
    return Finding(
        "engine", State.WELL if safe else State.ILL, f"SQLite {version}, journal {journal}, synchronous {synchronous}"
    )


def _versions(store: Store) -> Finding:
    with in_words(), store.engine.connect() as connection:
        found = current(connection)
    return Finding("tables", State.WELL if found == HEAD else State.ILL, f"version {found}, this program knows {HEAD}")


def _whole(store: Store) -> Finding:
    with in_words(), store.engine.connect() as connection:
        said = [str(row[0]) for row in connection.execute(text("PRAGMA integrity_check(5)"))]
        orphans = len(connection.execute(text("PRAGMA foreign_key_check")).all())
    if said == ["ok"] and not orphans:
        return Finding("integrity", State.WELL, "every page and every reference is sound")
    return Finding("integrity", State.ILL, f"{'; '.join(said)}; {orphans} broken references: load the newest backup")


def _feed(store: Store) -> Finding:
    """Every owner stands where the last line of the feed says."""
    newest = select(changes.c.owner, func.max(changes.c.version).label("last")).group_by(changes.c.owner).subquery()
    query = select(heads.c.owner, heads.c.version, newest.c.last).join(newest, heads.c.owner == newest.c.owner)
    with in_words(), store.engine.connect() as connection:
        rows = connection.execute(query).all()
    apart = [row.owner for row in rows if row.version != row.last]
    if apart:
        return Finding("versions", State.ILL, f"version and change feed differ for {', '.join(apart)}")
    return Finding("versions", State.WELL, f"{len(rows)} owners stand where their last change says")


def _disk(store: Store) -> Finding:
    place = _existing(store.folder)
    free = shutil.disk_usage(place).free
    size = sum(file.stat().st_size for file in _files(store))
    sentence = f"the store takes {_bytes(size)}, {_bytes(free)} are free" if size else f"{_bytes(free)} are free"
    return Finding("disk", State.WELL if free > max(TIGHT, size) else State.MIND, sentence)


def _copies(store: Store) -> Finding:
    """What would be lost: everything changed since the newest copy."""
    copies = backups(store.file) if store.file is not None else sorted((store.folder / FOLDER).glob("*.fabula"))
    if not copies:
        return Finding("copies", State.MIND, "there is no copy: all of it would be lost with this disk; `fabula save`")
    newest = max(copies, key=lambda copy: copy.stat().st_mtime)
    made = datetime.fromtimestamp(newest.stat().st_mtime, UTC)
    query = select(func.count()).select_from(changes).where(changes.c.at > made.strftime("%Y-%m-%dT%H:%M:%S"))
    with in_words(), store.engine.connect() as connection:
        since = int(connection.execute(query).scalar_one())
    lost = f"{since} changes since then would be lost with this disk" if since else "nothing changed since then"
    return Finding(
        "copies",
        State.WELL if since < 1000 else State.MIND,
        f"{len(copies)} in {newest.parent.name}/, the newest of {made:%Y-%m-%d %H:%M} UTC; {lost}",
    )


def _files(store: Store) -> list[Path]:
    if store.file is None:
        return []
    return [file for file in (store.file, Path(f"{store.file}-wal")) if file.exists()]


def _existing(folder: Path) -> Path:
    while not folder.exists():
        folder = folder.parent
    return folder


def _bytes(size: int) -> str:
    amount = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"
