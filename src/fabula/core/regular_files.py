"""Open files that other people name: only regular files, so that a pipe or a device cannot block or never end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

__all__ = ["NOT_A_FILE", "open_regular_file"]

NOT_A_FILE = "it is a folder, a pipe or a device, and not a file"


def open_regular_file(path: Path) -> BinaryIO:
    """Open a file for reading; a folder, pipe, socket or device raises OSError and is never waited for."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, NOT_A_FILE)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise
