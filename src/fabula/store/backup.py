"""Backups of a SQLite store: dated copies, made while it is in use, a bounded number of them."""

from __future__ import annotations

import os
import re
import sqlite3
import time
from datetime import UTC, datetime
from pathlib import Path

from fabula.store.database_errors import in_words

FOLDER = "backups"
KEPT = 10
DAY = 24 * 3600.0


def back_up(file: Path, *, reason: str = "daily", keep: int = KEPT) -> Path:
    """A copy of the store as it stands, and older copies beyond the bound removed."""
    folder = file.parent / FOLDER
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H%M%S%f")
    target = folder / f"{file.stem}-{stamp}-{reason}.db"
    partial = target.with_suffix(".partial")
    with in_words():
        folder.mkdir(exist_ok=True)
        try:
            _copy(file, partial)
            os.replace(partial, target)
        finally:
            partial.unlink(missing_ok=True)
        for old in backups(file)[:-keep]:
            old.unlink(missing_ok=True)
    return target


def backups(file: Path) -> list[Path]:
    """All copies there are, the oldest first; those of a neighbour called `NAME-two.db` are its own."""
    ours = re.compile(re.escape(file.stem) + r"-\d{4}-\d\d-\d\dT\d{12}-.*\.db")
    return sorted(copy for copy in (file.parent / FOLDER).glob("*.db") if ours.fullmatch(copy.name))


def back_up_daily(file: Path) -> Path | None:
    """A copy, unless the newest one is younger than a day."""
    with in_words():
        newest = max((copy.stat().st_mtime for copy in backups(file)), default=0.0)
    return back_up(file) if time.time() - newest > DAY else None


def _copy(file: Path, target: Path) -> None:
    source = sqlite3.connect(file)
    try:
        copy = sqlite3.connect(target)
        try:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")  # one file, complete in itself
        finally:
            copy.close()
    finally:
        source.close()
    with target.open("r+b") as written:
        os.fsync(written.fileno())
