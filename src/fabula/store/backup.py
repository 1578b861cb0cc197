"""Backups of a SQLite store: dated and numbered copies in a folder beside it.

A copy is made while the store is in use, once a day and before each upgrade. The newest ten are kept. Which ones are
the newest is decided by the number in their names, because a clock may be wrong. Copies of earlier versions have no
number and count as older than all others.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from fabula.core.new_files import make_private_file, make_private_folder
from fabula.core.partial_files import hold_partial, sweep_partials
from fabula.store.database_errors import translate_errors

BACKUP_FOLDER = "backups"
MAX_BACKUPS = 10
DAY = 24 * 3600.0
STAMP = "%Y-%m-%dT%H%M%S%f"  # in the name of a copy
_NUMBER = re.compile(r"T\d{12}Z?-(\d{6,})-")


def back_up(file: Path, *, reason: str = "daily", keep: int = MAX_BACKUPS) -> Path:
    """Copy the store as it is now, and delete the oldest copies beyond `keep`; 0 keeps all."""
    folder = file.parent / BACKUP_FOLDER
    target = folder / f"{file.stem}-{make_stamp(folder)}-{reason}.db"
    partial = target.with_suffix(".partial")
    with translate_errors():
        make_private_folder(folder)
        sweep_partials(folder, "*.partial", ".save-*.part")
        try:
            make_private_file(partial)
            with partial.open("wb") as held:
                hold_partial(held)
                _copy(file, partial)
            os.replace(partial, target)
        finally:
            partial.unlink(missing_ok=True)
        for old in list_backups(file)[:-keep] if keep else ():
            if old != target:
                old.unlink(missing_ok=True)
    return target


def make_stamp(folder: Path, time: str | None = None) -> str:
    """The time and the next number of a folder, for the name of a new copy in it."""
    last = max((_number_of(path) for path in folder.glob("*")), default=0)
    return f"{time or datetime.now(UTC).strftime(STAMP)}-{last + 1:06}"


def sort_by_number(copies: Iterable[Path]) -> list[Path]:
    """Copies in the order in which they were made, the oldest first."""
    return sorted(copies, key=lambda copy: (_number_of(copy), copy.name))


def _number_of(copy: Path) -> int:
    """The number in the name of a copy; 0 for one of an earlier version."""
    found = _NUMBER.search(copy.name)
    return int(found[1]) if found else 0


def list_backups(file: Path) -> list[Path]:
    """All copies of this store, the oldest first; copies of a neighbouring `NAME-two.db` are not listed."""
    pattern = re.compile(re.escape(file.stem) + r"-\d{4}-\d\d-\d\dT\d{12}-.*\.db")
    found = (file.parent / BACKUP_FOLDER).glob("*.db")
    return sort_by_number(copy for copy in found if pattern.fullmatch(copy.name))


def back_up_daily(file: Path) -> Path | None:
    """Copy the store unless a copy was made less than a day ago, by the time in its name: file times change.

    A copy from the future, made while the clock was wrong, does not count.
    """
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
