"""Errors about files: what the system says about one, in plain words, and the nearest name of one that is not there."""

from __future__ import annotations

import errno
from pathlib import Path

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, join_alternatives, message
from fabula.core.similar_names import find_similar_names

_REASONS = {
    errno.ENOENT: message("there is no such file or folder"),
    errno.ENOTDIR: message("there is no such folder"),
    errno.EISDIR: message("it is a folder"),
    errno.EACCES: message("you may not read or write it"),
    errno.EPERM: message("you may not read or write it"),
    errno.EROFS: message("the disk cannot be written"),
    errno.ENOSPC: message("the disk is full"),
    errno.ENAMETOOLONG: message("the name is too long"),
    errno.ELOOP: message("it points to itself"),
}
_SEARCHED = 2000  # files of a folder that a missing one is compared with


def describe_os_error(error: OSError) -> Sentence | str:
    """Return why a file could not be used, in plain words."""
    return _REASONS.get(error.errno or 0, error.strerror or type(error).__name__)


def missing_file(path: Path) -> FabulaError:
    """Return the error for a file that is not there, with the nearest names of its folder."""
    try:
        names = [one.name for one, _ in zip(path.absolute().parent.iterdir(), range(_SEARCHED), strict=False)]
    except OSError:
        names = []
    near = find_similar_names(path.name, names)
    if not near:
        return FabulaError(Code.FILE_NOT_FOUND, message("There is no file {file}. Nothing was changed.", file=path))
    return FabulaError(
        Code.FILE_NOT_FOUND,
        message(
            "There is no file {file}. Did you mean {names}? Nothing was changed.",
            file=path,
            names=join_alternatives(near),
        ),
    )
