"""What a database says when something is wrong, in words that help.

Every driver's complaint becomes one coded refusal. A transaction that failed changed nothing, and the
sentence says so.
"""

from __future__ import annotations

import errno
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from fabula.core.errors import Code, FabulaError

_KEPT = "Nothing was changed."
_FULL = ("SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE")  # what SQLite says at a quota, or a limit on a file's size
_SAID: tuple[tuple[re.Pattern[str], Code, str], ...] = (
    (
        re.compile(r"disk is full|no space left|could not extend file", re.I),
        Code.STORE_DISK_FULL,
        f"The disk is full. Make room, then try again. {_KEPT}",
    ),
    (
        re.compile(r"readonly database|read-only", re.I),
        Code.STORE_READ_ONLY,
        f"The data folder or its file is read-only. Choose another folder, or change its permissions. {_KEPT}",
    ),
    (
        re.compile(r"unable to open database|permission denied", re.I),
        Code.STORE_READ_ONLY,
        f"The data folder cannot be opened for writing. Choose another folder, or change its permissions. {_KEPT}",
    ),
    (
        re.compile(r"database is locked|database table is locked|lock timeout|deadlock|serialize access", re.I),
        Code.STORE_BUSY,
        f"Somebody else kept the store busy for too long. Try again. {_KEPT}",
    ),
    (
        re.compile(r"not a database|malformed|disk I/O error|checksum", re.I),
        Code.STORE_DAMAGED,
        "The store's file is damaged or is not one of ours. `fabula doctor` looks into it; the latest backup is in "
        f"the folder `backups` beside it. {_KEPT}",
    ),
)


@contextmanager
def in_words() -> Iterator[None]:
    """Turn whatever a database or a disk complains about into a coded refusal."""
    try:
        yield
    except IntegrityError as error:
        raise _integrity(error) from error
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise explained(error) from error
    except OSError as error:
        raise from_disk(error) from error


@contextmanager
def in_doubt() -> Iterator[None]:
    """Around a commit: when the database goes away in the middle of it, nobody here knows whether it was kept."""
    try:
        yield
    except DBAPIError as error:
        if not lost_connection(error):
            raise
        raise FabulaError(
            Code.STORE_UNREACHABLE,
            "The database went away while it was keeping this change. "
            "Look whether the change is there before you make it again.",
        ) from error


def explained(error: Exception) -> FabulaError:
    """A driver's complaint as a coded refusal."""
    if lost_connection(error):
        return FabulaError(
            Code.STORE_UNREACHABLE,
            f"The database does not answer. Check that it runs and that its address is right; "
            f"the next try connects anew. {_KEPT}",
        )
    if isinstance(error, PoolTimeoutError):
        return FabulaError(Code.STORE_BUSY, f"Too many were at work in the store at once. Try again. {_KEPT}")
    orig = getattr(error, "orig", None) or error
    said = "disk is full" if getattr(orig, "sqlite_errorname", "") in _FULL else str(orig)
    for pattern, code, sentence in _SAID:
        if pattern.search(said):
            return FabulaError(code, sentence)
    return FabulaError(Code.STORE_DAMAGED, f"The store could not do this ({type(error).__name__}). {_KEPT}")


def from_disk(error: OSError) -> FabulaError:
    """What a disk complains about."""
    where = f" ({error.filename})" if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return FabulaError(Code.STORE_DISK_FULL, f"The disk is full{where}. Make room, then try again. {_KEPT}")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return FabulaError(Code.STORE_READ_ONLY, f"This place cannot be written to{where}. Choose another. {_KEPT}")
    return FabulaError(Code.STORE_READ_ONLY, f"This place cannot be used: {error.strerror or error}{where}. {_KEPT}")


def lost_connection(error: Exception) -> bool:
    """Did the database go away, rather than refuse?"""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    if not isinstance(error, OperationalError) or isinstance(error.orig, sqlite3.Error):
        return False
    state = getattr(error.orig, "sqlstate", None)  # none where the driver speaks for itself
    return state is None or state.startswith(("08", "57P"))


def _integrity(error: IntegrityError) -> FabulaError:
    said = str(error.orig)
    if re.search("unique|duplicate", said, re.I):
        return FabulaError(Code.STORE_DUPLICATE, f"Something of that id exists already. {_KEPT}")
    return FabulaError(Code.STORE_NOT_FOUND, f"This belongs to something that does not exist (any more). {_KEPT}")
