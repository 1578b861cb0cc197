"""New files: a temporary file beside a destination, with the permissions that the finished file will have.

A file for a person gets what the umask allows, or keeps the permissions of the file that it replaces.
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
    handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | binary, 0o666)  # the system applies the umask
    with suppress(OSError):
        temporary.chmod(S_IMODE(path.stat().st_mode))
    return temporary, os.fdopen(handle, "w+b")
