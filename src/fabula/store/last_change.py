"""The last change of a SQLite store, recorded in a small file beside it.

A write-ahead log that was deleted or cut off takes the newest changes with it, and SQLite opens the older state without
a word. After each commit the store writes the owner and the version of the change into `NAME.db-last`. If the database
has an older version of that owner when it is opened, changes are missing. The file is not synced to disk: after a power
cut it may name an older change, but never one that the database did not have.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

import msgspec
from msgspec import Struct

_SIZE = 1024  # bytes of the record, which is padded with blanks


class LastChange(Struct, frozen=True):
    """The owner and the version of a committed change."""

    owner: str
    version: int


class LastChangeFile:
    """The file beside a database that names its last change."""

    def __init__(self, file: Path) -> None:
        self._path = f"{file}-last"
        self._database = file

    def write(self, versions: Mapping[str, int]) -> None:
        """Record a change that was committed; a folder that cannot be written to is no error."""
        for owner, version in versions.items():
            record = msgspec.json.encode(LastChange(owner, version))
            if len(record) <= _SIZE:
                with suppress(OSError):
                    handle = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600)
                    try:
                        os.write(handle, record.ljust(_SIZE))  # in place, in one piece
                    finally:
                        os.close(handle)

    def count_missing(self) -> int:
        """How many changes of the last owner the database lacks, at least; 0 where none is known to be missing."""
        try:
            last = msgspec.json.decode(Path(self._path).read_bytes(), type=LastChange)
            with closing(sqlite3.connect(f"file:{quote(str(self._database))}?mode=ro", uri=True)) as connection:
                row = connection.execute("SELECT version FROM heads WHERE owner = ?", (last.owner,)).fetchone()
        except (OSError, msgspec.MsgspecError, sqlite3.Error):
            return 0
        return max(last.version - (row[0] if row else 0), 0)
