"""Backups of a SQLite store: dated copies in a folder beside it.

A copy is made while the store is in use, once a day and before each upgrade. The newest ten are kept.
"""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from fabula.store.database_errors import translate_errors

BACKUP_FOLDER = "backups"
MAX_BACKUPS = 10
DAY = 24 * 3600.0
STAMP = "%Y-%m-%dT%H%M%S%f"  # in the name of a copy


def back_up(file: Path, *, reason: str = "daily", keep: int = MAX_BACKUPS) -> Path:
    """Copy the store as it is now, and delete the oldest copies beyond `keep`; 0 keeps all."""
    folder = file.parent / BACKUP_FOLDER
    stamp = datetime.now(UTC).strftime(STAMP)
    target = folder / f"{file.stem}-{stamp}-{reason}.db"
    partial = target.with_suffix(".partial")
    with translate_errors():
        folder.mkdir(exist_ok=True)
        try:
            _copy(file, partial)
            os.replace(partial, target)
        finally:
            partial.unlink(missing_ok=True)
        for old in list_backups(file)[:-keep] if keep else ():
            old.unlink(missing_ok=True)
    return target


def list_backups(file: Path) -> list[Path]:
    """All copies of this store, the oldest first; copies of a neighbouring `NAME-two.db` are not listed."""
    pattern = re.compile(re.escape(file.stem) + r"-\d{4}-\d\d-\d\dT\d{12}-.*\.db")
    return sorted(copy for copy in (file.parent / BACKUP_FOLDER).glob("*.db") if pattern.fullmatch(copy.name))


def back_up_daily(file: Path) -> Path | None:
    """Copy the store unless a copy was made less than a day ago, by the time in its name: file times change."""
    now = datetime.now(UTC)
    with translate_errors():
        ages = [(now - _time_of(file, copy)).total_seconds() for copy in list_backups(file)]
    return None if any(0 <= age <= DAY for age in ages) else back_up(file)


def _time_of(file: Path, copy: Path) -> datetime:
    """The time in the name of a copy."""
    stamp = copy.name.removeprefix(f"{file.stem}-")[:23]
    return datetime.strptime(stamp, STAMP).replace(tzinfo=UTC)


def _copy(file: Path, target: Path) -> None:
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")  # so that the copy is one complete file
    with target.open("r+b") as written:
        os.fsync(written.fileno())
