"""Bounded reading of files and folders, and atomic writing.

Readers of formats take a `FileCollection`: names with `/` between their parts, and bytes. An open
archive is one and so is a folder. A folder does not follow links, so that a folder from somebody
else cannot reach into the reader's own files.
"""

from __future__ import annotations

import os
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import NoReturn

from fabula.core.archives import Archive, ArchiveLimits
from fabula.core.errors import Code, FabulaError
from fabula.core.file_errors import describe_os_error, missing_file
from fabula.core.messages import advise, message
from fabula.core.new_files import create_temporary
from fabula.core.partial_files import hold_partial, sweep_partials
from fabula.core.regular_files import open_regular_file
from fabula.formats.safe.import_errors import CHECK_FILE, refuse_more_bytes, refuse_too_large, refuse_unreadable

_MAX_FOLDER_DEPTH = 40


class Folder:
    """A folder on disk that is read like an archive: its label for messages, the names of its files, their bytes."""

    def __init__(self, root: Path, names: tuple[str, ...], limits: ArchiveLimits) -> None:
        self.label = root.resolve().name
        self.names = names
        self._root = root
        self._known_names = frozenset(names)
        self._limits = limits
        self._bytes_read = 0

    def read(self, name: str) -> bytes:
        """Read one file; its size and the size of all files read so far are checked."""
        if name not in self._known_names:
            refuse_unreadable(self.label, message("it has no {name!r}", name=name), CHECK_FILE)
        data = read_file(self._root / name, self._limits.max_entry_bytes)
        self._bytes_read += len(data)
        if self._bytes_read > self._limits.max_total_bytes:
            refuse_more_bytes(self.label, self._limits.max_total_bytes)
        return data


FileCollection = Archive | Folder


def open_folder(root: Path, limits: ArchiveLimits | None = None) -> Folder:
    """List a folder with everything below it, except hidden files and links."""
    limits = limits or ArchiveLimits()
    names: list[str] = []
    pending = [("", 0)]
    while pending:
        prefix, depth = pending.pop()
        if depth > _MAX_FOLDER_DEPTH:
            problem = message("it has folders more than {depth} levels deep", depth=_MAX_FOLDER_DEPTH)
            refuse_too_large(root.name, problem)
        try:
            with os.scandir(root / prefix) as entries:
                for entry in entries:
                    if entry.name.startswith(".") or entry.is_symlink():
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        pending.append((f"{prefix}{entry.name}/", depth + 1))
                    elif entry.is_file(follow_symlinks=False):
                        names.append(prefix + entry.name)
                    if len(names) + len(pending) > limits.max_entries:
                        problem = message("it has more than {count} files", count=limits.max_entries)
                        refuse_too_large(root.name, problem, message("Name the folder of the manuscript itself."))
        except OSError as error:
            _refuse_unopened(root, error)
    return Folder(root, tuple(sorted(names)), limits)


def read_file(path: Path, max_bytes: int) -> bytes:
    """Read a file, unless it is larger than the limit."""
    data = read_beginning(path, max_bytes + 1)
    if len(data) > max_bytes:
        refuse_more_bytes(path.name, max_bytes)
    return data


def read_beginning(path: Path, max_bytes: int) -> bytes:
    """Read the first bytes of a file."""
    try:
        with open_regular_file(path) as stream:
            return stream.read(max_bytes)
    except OSError as error:
        _refuse_unopened(path, error)


def _refuse_unopened(path: Path, error: OSError) -> NoReturn:
    if isinstance(error, FileNotFoundError):
        raise missing_file(path) from None
    refuse_unreadable(path.name, message("it could not be read ({error})", error=describe_os_error(error)), CHECK_FILE)


def refuse_unwritten(path: Path, error: OSError) -> NoReturn:
    """Refuse to write a file, or into a folder, that cannot be written."""
    sentence = message(
        "{path} could not be written ({error}). Nothing was changed. "
        "Check that the folder exists, that you may write to it, and that the disk has room.",
        path=path,
        error=describe_os_error(error),
    )
    raise FabulaError(Code.EXPORT_REFUSED, sentence) from None


def write_file(data: bytes, path: Path, *, overwrite: bool = False) -> None:
    """Write a file atomically: to a temporary file beside it first, which then takes its name."""
    if path.is_dir():
        sentence = message("{path} is a folder. Nothing was written. Name a file.", path=path)
        raise FabulaError(Code.EXPORT_REFUSED, sentence)
    if path.exists() and not overwrite:
        sentence = message(
            "There is already a file at {path}. It was not changed. {advice}",
            path=path,
            advice=advise(
                message("Name another file, or add --overwrite."),
                message("Name another file, or let it be overwritten (`overwrite`)."),
            ),
        )
        raise FabulaError(Code.EXPORT_REFUSED, sentence)
    temporary: Path | None = None
    try:
        temporary, stream = create_temporary(path, prefix=f".{path.name[:60]}.")
        with stream as file:
            hold_partial(file)
            sweep_partials(path.parent, f".{escape(path.name[:60])}*.part")
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        refuse_unwritten(path, error)
    finally:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
