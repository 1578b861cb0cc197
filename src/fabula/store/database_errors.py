"""Database and disk errors, translated into coded errors with a sentence that helps.

Every error of a driver becomes one `FabulaError`. A transaction that failed changed nothing, and the sentence says so.
"""

from __future__ import annotations

import errno
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from fabula.core.errors import Code, FabulaError
from fabula.core.file_errors import describe_os_error
from fabula.core.messages import Sentence, advise, message

_FULL = ("SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE")  # at a quota, or at a limit on the size of a file
_DISK_FULL = message("The disk is full. Make room, then try again. Nothing was changed.")
ERRORS = (SQLAlchemyError, sqlite3.Error, OverflowError, OSError)  # of the database or the disk
_EXPLANATIONS: tuple[tuple[re.Pattern[str], Code, Sentence], ...] = (
    (
        re.compile(r"disk is full|no space left|could not extend file", re.I),
        Code.STORE_DISK_FULL,
        _DISK_FULL,
    ),
    (
        re.compile(r"readonly database|read-only|unable to open database|permission denied", re.I),
        Code.STORE_READ_ONLY,
        message(
            "The data folder cannot be written to. Choose another folder, or change its permissions. "
            "Nothing was changed."
        ),
    ),
    (
        re.compile(r"database is locked|database table is locked|lock timeout|deadlock|serialize access", re.I),
        Code.STORE_BUSY,
        message("Another program kept the store busy for too long. Try again. Nothing was changed."),
    ),
    (
        re.compile(r"not a database|malformed|disk I/O error|checksum", re.I),
        Code.STORE_DAMAGED,
        message(
            "The file of the store is damaged, or Fabula did not write it. {advice} "
            "The latest backup is in the folder `backups` beside it. Nothing was changed.",
            advice=advise(message("`fabula doctor` examines it."), message("Whoever runs Fabula can examine it.")),
        ),
    ),
)


@contextmanager
def translate_errors() -> Iterator[None]:
    """Turn errors of the database or the disk into coded errors."""
    try:
        yield
    except ERRORS as error:
        raise translate_error(error) from error


def translate_error(error: Exception) -> FabulaError:
    """Make a coded error of one of the database or the disk."""
    if isinstance(error, IntegrityError):
        return _integrity(error)
    if isinstance(error, DataError | OverflowError):
        return FabulaError(Code.REQUEST_INVALID, message("A number is too large to be stored. Nothing was changed."))
    return explain_os_error(error) if isinstance(error, OSError) else explain_error(error)


def explain_error(error: Exception) -> FabulaError:
    """Make a coded error of a driver's error."""
    if is_connection_lost(error):
        return store_unreachable()
    if isinstance(error, PoolTimeoutError):
        return FabulaError(
            Code.STORE_BUSY, message("Too many programs use the store at once. Try again. Nothing was changed.")
        )
    orig = getattr(error, "orig", None) or error
    text = "disk is full" if getattr(orig, "sqlite_errorname", "") in _FULL else str(orig)
    for pattern, code, sentence in _EXPLANATIONS:
        if pattern.search(text):
            return FabulaError(code, sentence)
    return FabulaError(
        Code.STORE_DAMAGED,
        message("The store could not do this ({error}). Nothing was changed.", error=type(error).__name__),
    )


def store_unreachable() -> FabulaError:
    """The error for a database server that does not answer."""
    return FabulaError(
        Code.STORE_UNREACHABLE,
        message(
            "The database does not answer. Check that it runs and that its address is right, then try again. "
            "Nothing was changed."
        ),
    )


def commit_uncertain() -> FabulaError:
    """The error for a connection that was lost during a commit: the change may or may not be stored."""
    return FabulaError(
        Code.STORE_UNREACHABLE,
        message(
            "The connection to the database was lost while this change was being stored. "
            "Check whether the change is there before you make it again."
        ),
    )


def explain_os_error(error: OSError) -> FabulaError:
    """Make a coded error of an error of the operating system."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return FabulaError(Code.STORE_DISK_FULL, _DISK_FULL)
    return FabulaError(
        Code.STORE_READ_ONLY,
        message(
            "{file} cannot be used ({reason}). Choose another folder, or change its permissions. Nothing was changed.",
            file=error.filename or message("The data folder"),
            reason=describe_os_error(error),
        ),
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
        return FabulaError(Code.STORE_DUPLICATE, message("Something with that id exists already. Nothing was changed."))
    return FabulaError(
        Code.STORE_NOT_FOUND, message("This belongs to something that no longer exists. Nothing was changed.")
    )
