"""The doctor: is everything whole, up to date and copied, and what would be lost if the disk died now?"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from msgspec import Struct
from sqlalchemy import func, select, text

from fabula.core.errors import Code, FabulaError
from fabula.store.backup import FOLDER, backups
from fabula.store.database_errors import in_words
from fabula.store.store import Store
from fabula.store.tables import changes, heads
from fabula.store.upgrade import HEAD, current

TIGHT = 1 << 30  # bytes of free disk below which to worry


class State(StrEnum):
    """How something is."""

    WELL = "well"
    MIND = "mind"
    ILL = "ill"


Found = tuple[State, str]


class Finding(Struct, frozen=True):
    """One thing looked at, and what was found."""

    name: str
    state: State
    sentence: str


def examine(store: Store) -> Iterator[Finding]:
    """Look at everything, one thing after the other; what cannot be looked at is ill, and why is said."""
    for name, look in LOOKS.items():
        try:
            with in_words():
                state, sentence = look(store)
        except FabulaError as error:
            if error.code is Code.STORE_UNREACHABLE:
                raise
            state, sentence = State.ILL, error.sentence
        yield Finding(name, state, sentence)


def _engine(store: Store) -> Found:
    with store.engine.connect() as connection:
        if store.file is None:
            return State.WELL, f"PostgreSQL {connection.execute(text('SHOW server_version')).scalar_one()}"
        version = connection.execute(text("SELECT sqlite_version()")).scalar_one()
        journal = connection.execute(text("PRAGMA journal_mode")).scalar_one()
        synchronous = connection.execute(text("PRAGMA synchronous")).scalar_one()
    safe = journal == "wal" and synchronous == 2
    return State.WELL if safe else State.ILL, f"SQLite {version}, journal {journal}, synchronous {synchronous}"


def _versions(store: Store) -> Found:
    with store.engine.connect() as connection:
        found = current(connection)
    if found == HEAD:
        return State.WELL, f"version {found}"
    if found is None:
        return State.ILL, "there are no tables of Fabula here"
    remedy = "use the newer program" if found > HEAD else "any other command brings it up to date"
    return State.ILL, f"version {found}, and this program knows {HEAD}: {remedy}"


def _whole(store: Store) -> Found:
    if store.file is None:
        return State.WELL, "the server sees to that"
    with store.engine.connect() as connection:
        said = [str(row[0]) for row in connection.execute(text("PRAGMA integrity_check(5)"))]
        orphans = len(connection.execute(text("PRAGMA foreign_key_check")).all())
    if said == ["ok"] and not orphans:
        return State.WELL, "every page and every reference is sound"
    problems = " ".join("; ".join(said).split())[:300]
    return State.ILL, f"{problems}; {orphans} broken references: go back to the newest copy"


def _feed(store: Store) -> Found:
    """Every owner stands where the last line of the feed says."""
    newest = select(changes.c.owner, func.max(changes.c.version).label("last")).group_by(changes.c.owner).subquery()
    query = select(heads.c.owner, heads.c.version, newest.c.last).outerjoin(newest, heads.c.owner == newest.c.owner)
    with store.engine.connect() as connection:
        rows = connection.execute(query).all()
    apart = [row.owner for row in rows if row.version != (row.last or 0)]
    if apart:
        return State.ILL, f"version and change feed differ for {', '.join(apart[:5])}"
    return State.WELL, f"{len(rows)} owners stand where their last change says"


def _disk(store: Store) -> Found:
    place = _existing(store.folder)
    free = shutil.disk_usage(place).free
    size = sum(file.stat().st_size for file in _files(store))
    sentence = f"the store takes {_bytes(size)}, {_bytes(free)} are free" if size else f"{_bytes(free)} are free"
    return State.WELL if free > max(TIGHT, size) else State.MIND, sentence


def _copies(store: Store) -> Found:
    """What would be lost: everything changed since the newest copy."""
    copies = backups(store.file) if store.file is not None else sorted((store.folder / FOLDER).glob("*.fabula"))
    if not copies:
        return State.MIND, "there is no copy: all of it would be lost with this disk; `fabula save`"
    newest = max(copies, key=lambda copy: copy.stat().st_mtime)
    made = datetime.fromtimestamp(newest.stat().st_mtime, UTC)
    there = f"{len(copies)} in {newest.parent.name}/, the newest is {newest.name} of {made:%Y-%m-%d %H:%M} UTC"
    query = select(func.count()).select_from(changes).where(changes.c.at > made.strftime("%Y-%m-%dT%H:%M:%S"))
    try:
        with in_words(), store.engine.connect() as connection:
            since = int(connection.execute(query).scalar_one())
    except FabulaError:
        return State.MIND, f"{there}; what changed since then cannot be read"
    lost = f"{since} changes since then would be lost with this disk" if since else "nothing changed since then"
    return State.WELL if since < 1000 else State.MIND, f"{there}; {lost}"


LOOKS: dict[str, Callable[[Store], Found]] = {
    "engine": _engine,
    "tables": _versions,
    "integrity": _whole,
    "versions": _feed,
    "disk": _disk,
    "copies": _copies,
}


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
