"""Bounded reading of files and folders, and atomic writing.

Readers of formats take a `FileCollection`: names with `/` between their parts, and bytes. An open
archive is one and so is a folder. A folder does not follow links, so that a folder from somebody
else cannot reach into the reader's own files.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Protocol

from fabula.core.archives import ArchiveLimits
from fabula.core.errors import Code, FabulaError
from fabula.formats.safe.import_errors import refuse_too_large, refuse_unreadable

_MAX_FOLDER_DEPTH = 40


class FileCollection(Protocol):
    """Named bytes: an archive or a folder."""

    @property
    def label(self) -> str:
        """What messages call it: a file or folder name."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all files."""

    def read(self, name: str) -> bytes:
        """Read one file."""


class Folder:
    """A folder on disk as a `FileCollection`."""

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
            refuse_unreadable(self.label, f"it has no {name!r}", "Check that the folder is whole.")
        try:
            with (self._root / name).open("rb") as stream:
                data = stream.read(self._limits.max_entry_bytes + 1)
        except OSError as error:
            problem = f"{name!r} could not be read ({error.strerror})"
            refuse_unreadable(self.label, problem, "Check that the files are there and may be read.")
        self._bytes_read += len(data)
        if len(data) > self._limits.max_entry_bytes or self._bytes_read > self._limits.max_total_bytes:
            refuse_too_large(self.label, f"{name!r} makes it larger than is read at once")
        return data


def open_folder(root: Path, limits: ArchiveLimits | None = None) -> Folder:
    """List a folder with everything below it, except hidden files and links."""
    limits = limits or ArchiveLimits()
    names: list[str] = []
    pending = [("", 0)]
    while pending:
        prefix, depth = pending.pop()
        if depth > _MAX_FOLDER_DEPTH:
            problem = f"folders are nested more than {_MAX_FOLDER_DEPTH} deep"
            refuse_too_large(root.name, problem, "Flatten them a bit.")
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
                        problem = f"it holds more than {limits.max_entries} files"
                        refuse_too_large(root.name, problem, "Name the folder of the manuscript itself.")
        except OSError as error:
            refuse_unreadable(root.name, f"it could not be read ({error.strerror})", "Check that you may read it.")
    return Folder(root, tuple(sorted(names)), limits)


def read_file(path: Path, max_bytes: int) -> bytes:
    """Read a file, unless it is larger than the limit."""
    try:
        with path.open("rb") as stream:
            data = stream.read(max_bytes + 1)
    except OSError as error:
        problem = f"it could not be read ({error.strerror})"
        refuse_unreadable(path.name, problem, "Check that the file is there and may be read.")
    if len(data) > max_bytes:
        refuse_too_large(path.name, f"it is larger than {max_bytes // 1_000_000} MB")
    return data


def write_file(data: bytes, path: Path, *, overwrite: bool = False) -> None:
    """Write a file atomically: to a temporary file beside it first, which then takes its name."""
    if path.is_dir():
        raise FabulaError(
            Code.EXPORT_REFUSED, f"{path} is a folder. Nothing was written. Name a file inside it, or another one."
        )
    if path.exists() and not overwrite:
        raise FabulaError(
            Code.EXPORT_REFUSED,
            f"There is already a file at {path}, and it was left as it is. Name another one, or allow overwriting.",
        )
    temporary: Path | None = None
    try:
        with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name[:80]}.", suffix=".part", delete=False) as file:
            temporary = Path(file.name)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        raise FabulaError(
            Code.EXPORT_REFUSED,
            f"{path} could not be written ({error.strerror}). Nothing was changed. "
            "Check that the folder is there, that you may write to it, and that the disk has room.",
        ) from None
    finally:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
