"""A folder of files, read with the same care as an archive.

Folders and archives look alike to a format: names with `/` between them, and bytes. Links are not
followed, so that a folder from somebody else cannot reach into the reader's own files.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn, Protocol

from fabula.core.archives import Limits
from fabula.core.errors import Code, FabulaError

_DEEPEST = 40


class Files(Protocol):
    """Named bytes: an archive or a folder."""

    @property
    def label(self) -> str: ...

    @property
    def names(self) -> tuple[str, ...]: ...

    def read(self, name: str) -> bytes: ...


class Folder:
    """A folder on disk as named bytes."""

    def __init__(self, root: Path, names: tuple[str, ...], limits: Limits) -> None:
        self.label = root.resolve().name
        self.names = names
        self._root = root
        self._known = frozenset(names)
        self._limits = limits
        self._read = 0

    def read(self, name: str) -> bytes:
        """The bytes of one file."""
        if name not in self._known:
            _refuse(Code.IMPORT_UNREADABLE, self.label, f"it has no {name!r}", "Check that the folder is whole.")
        try:
            with (self._root / name).open("rb") as stream:
                data = stream.read(self._limits.each + 1)
        except OSError as error:
            problem = f"{name!r} could not be read ({error.strerror})"
            _refuse(Code.IMPORT_UNREADABLE, self.label, problem, "Check that the files are there and may be read.")
        self._read += len(data)
        if len(data) > self._limits.each or self._read > self._limits.total:
            problem = f"{name!r} makes it larger than is read at once"
            _refuse(Code.IMPORT_TOO_LARGE, self.label, problem, "Leave out what is not text, or split it.")
        return data


def open_folder(root: Path, limits: Limits | None = None) -> Folder:
    """A folder with all that lies in it, hidden files and links left aside."""
    limits = limits or Limits()
    names: list[str] = []
    waiting = [("", 0)]
    while waiting:
        prefix, depth = waiting.pop()
        if depth > _DEEPEST:
            _refuse(
                Code.IMPORT_TOO_LARGE, root.name, f"folders are nested more than {_DEEPEST} deep", "Flatten them a bit."
            )
        try:
            with os.scandir(root / prefix) as found:
                for entry in found:
                    if entry.name.startswith(".") or entry.is_symlink():
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append((f"{prefix}{entry.name}/", depth + 1))
                    elif entry.is_file(follow_symlinks=False):
                        names.append(prefix + entry.name)
                    if len(names) + len(waiting) > limits.entries:
                        problem = f"it holds more than {limits.entries} files"
                        _refuse(Code.IMPORT_TOO_LARGE, root.name, problem, "Name the folder of the manuscript itself.")
        except OSError as error:
            problem = f"it could not be read ({error.strerror})"
            _refuse(Code.IMPORT_UNREADABLE, root.name, problem, "Check that you may read it.")
    return Folder(root, tuple(sorted(names)), limits)


def _refuse(code: Code, label: str, problem: str, remedy: str) -> NoReturn:
    raise FabulaError(code, f"{label}: {problem}. Nothing was imported. {remedy}")
