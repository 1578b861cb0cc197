"""Database and disk errors, translated into coded errors with a sentence that helps.

Every error of a driver becomes one `FabulaError`. A transaction that failed changed nothing, and the sentence says so.
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

_UNCHANGED = "Nothing was changed."
_FULL = ("SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE")  # at a quota, or at a limit on the size of a file
_MESSAGES: tuple[tuple[re.Pattern[str], Code, str], ...] = (
    (
        re.compile(r"disk is full|no space left|could not extend file", re.I),
        Code.STORE_DISK_FULL,
        f"The disk is full. Make room, then try again. {_UNCHANGED}",
    ),
    (
        re.compile(r"readonly database|read-only", re.I),
        Code.STORE_READ_ONLY,
        f"The data folder or its file is read-only. Choose another folder, or change its permissions. {_UNCHANGED}",
    ),
    (
        re.compile(r"unable to open database|permission denied", re.I),
        Code.STORE_READ_ONLY,
        f"The data folder cannot be opened for writing. Choose another folder, or change its permissions. {_UNCHANGED}",
    ),
    (
        re.compile(r"database is locked|database table is locked|lock timeout|deadlock|serialize access", re.I),
        Code.STORE_BUSY,
        f"Another program kept the store busy for too long. Try again. {_UNCHANGED}",
    ),
    (
        re.compile(r"not a database|malformed|disk I/O error|checksum", re.I),
        Code.STORE_DAMAGED,
        "The store's file is damaged, or Fabula did not write it. `fabula doctor` looks into it; the latest backup "
        f"is in the folder `backups` beside it. {_UNCHANGED}",
    ),
)


@contextmanager
def translate_errors() -> Iterator[None]:
    """Turn errors of the database or the disk into coded errors."""
    try:
        yield
    except IntegrityError as error:
        raise _integrity(error) from error
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise explain_error(error) from error
    except OSError as error:
        raise explain_os_error(error) from error


@contextmanager
def translate_commit_errors() -> Iterator[None]:
    """Around a commit: when the connection is lost during it, the change may or may not be stored."""
    try:
        yield
    except DBAPIError as error:
        if not is_connection_lost(error):
            raise
        raise FabulaError(
            Code.STORE_UNREACHABLE,
            "The connection to the database was lost while this change was being stored. "
            "Look whether the change is there before you make it again.",
        ) from error


def explain_error(error: Exception) -> FabulaError:
    """Make a coded error of a driver's error."""
    if is_connection_lost(error):
        return FabulaError(
            Code.STORE_UNREACHABLE,
            f"The database does not answer. Check that it runs and that its address is right; "
            f"the next try connects anew. {_UNCHANGED}",
        )
    if isinstance(error, PoolTimeoutError):
        return FabulaError(Code.STORE_BUSY, f"Too many programs use the store at once. Try again. {_UNCHANGED}")
    orig = getattr(error, "orig", None) or error
    message = "disk is full" if getattr(orig, "sqlite_errorname", "") in _FULL else str(orig)
    for pattern, code, sentence in _MESSAGES:
        if pattern.search(message):
            return FabulaError(code, sentence)
    return FabulaError(Code.STORE_DAMAGED, f"The store could not do this ({type(error).__name__}). {_UNCHANGED}")


def explain_os_error(error: OSError) -> FabulaError:
    """Make a coded error of an error of the operating system."""
    where = f" ({error.filename})" if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return FabulaError(Code.STORE_DISK_FULL, f"The disk is full{where}. Make room, then try again. {_UNCHANGED}")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return FabulaError(
            Code.STORE_READ_ONLY, f"This place cannot be written to{where}. Choose another. {_UNCHANGED}"
        )
    return FabulaError(
        Code.STORE_READ_ONLY, f"This place cannot be used: {error.strerror or error}{where}. {_UNCHANGED}"
    )


def is_connection_lost(error: Exception) -> bool:
    """Whether the connection was lost, rather than the statement refused."""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    if not isinstance(error, OperationalError) or isinstance(error.orig, sqlite3.Error):
        return False
    state = getattr(error.orig, "sqlstate", None)  # None where the driver itself raised the error
    return state is None or state.startswith(("08", "57P"))


def _integrity(error: IntegrityError) -> FabulaError:
    if re.search("unique|duplicate", str(error.orig), re.I):
        return FabulaError(Code.STORE_DUPLICATE, f"Something with that id exists already. {_UNCHANGED}")
    return FabulaError(Code.STORE_NOT_FOUND, f"This belongs to something that does not exist (any more). {_UNCHANGED}")
