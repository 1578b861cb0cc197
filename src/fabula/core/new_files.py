"""New files: a temporary file beside a destination, with the permissions that the finished file will have.

A file for a person gets what the umask allows, or keeps the permissions of the file that it replaces. What the program
keeps for itself, a store and its copies, is for its user alone.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from stat import S_IMODE
from typing import BinaryIO

from fabula.core.regular_files import NOT_A_FILE


def create_temporary(path: Path, *, prefix: str) -> tuple[Path, BinaryIO]:
    """Create an empty file beside a destination; return its path, and the open file to write to."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, NOT_A_FILE)  # a pipe or a device would be replaced by a file
    temporary = path.parent / f"{prefix}{token_hex(8)}.part"
    binary = getattr(os, "O_BINARY", 0)  # of Windows
    try:
        handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | binary, 0o666)  # the system applies the umask
    except OSError as error:
        error.filename = str(path)  # the name that a person gave
        raise
    with suppress(OSError):
        temporary.chmod(S_IMODE(path.stat().st_mode))
    return temporary, os.fdopen(handle, "w+b")


def make_private_folder(folder: Path) -> None:
    """Make a folder, unless it is there, that nobody else on this machine can look into."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def make_private_file(path: Path) -> None:
    """Make an empty file, unless it is there, that nobody else on this machine can read."""
    if not path.exists():
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
