"""Partial files: what a program writes before it has its name, and how those of killed programs are deleted.

Whoever writes a partial file holds a lock on it, which the system releases when the process ends, however it ends. So
a file that nobody has locked belongs to no living run. Where there are no such locks (Windows), the system refuses to
delete a file that is open.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from fabula.core.regular_files import open_regular_file

if sys.platform != "win32":
    import fcntl

MIN_AGE = 60.0  # seconds; a younger file may not have its lock yet


def hold_partial(file: IO[bytes]) -> None:
    """Mark an open partial file as in use until it is closed."""
    if sys.platform != "win32":
        with suppress(OSError):  # some network folders have no locks
            fcntl.flock(file.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)


def sweep_partials(folder: Path, *patterns: str) -> int:
    """Delete partial files in a folder that belong to no living run; return how many."""
    swept = 0
    for pattern in patterns:
        for path in folder.glob(pattern):
            with suppress(OSError):
                if abs(time.time() - path.stat().st_mtime) > MIN_AGE and not _is_held(path):
                    path.unlink()
                    swept += 1
    return swept


def _is_held(path: Path) -> bool:
    if sys.platform != "win32":
        with open_regular_file(path) as file:
            try:
                fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return True
    return False
