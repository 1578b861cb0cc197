"""What the copies of a store hold: which projects, and in which state.

The contents decide, never the time of the file: copying a folder makes every file in it look new. Dated copies hold a
whole SQLite store; `.fabula` files are saves of single projects, made before one was replaced.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import advise, message
from fabula.store.backup import BACKUP_FOLDER, list_backups
from fabula.store.connections import DATABASE_FILE, data_folder, is_server_url

_REASON = re.compile(r"T\d{12}-(?:\d{6}-)?(.+)\.db$")


class CopiedProject(Struct, frozen=True, kw_only=True):
    """One project in a copy, and when it was last changed there."""

    id: str
    title: str
    kind: str = "book"
    changed: str = ""


class StoreCopy(Struct, frozen=True, kw_only=True):
    """One copy, and what it holds; `problem` says why it cannot be read."""

    path: Path
    projects: tuple[CopiedProject, ...] = ()
    reason: str = ""
    problem: str = ""

    @property
    def state(self) -> str:
        """When the newest change in it was made; empty where it holds nothing."""
        return max((project.changed for project in self.projects), default="")

    @property
    def is_whole_store(self) -> bool:
        """Is it a copy of a whole store, and not a save of one project?"""
        return self.path.suffix == ".db"


def find_store_file(location: str | Path | None) -> tuple[Path, Path | None]:
    """The data folder of a store and its database file, whether or not it exists; no file for a server."""
    if location is not None and is_server_url(str(location)):
        return data_folder(), None
    path = data_folder() if location is None else Path(location)
    file = path if path.suffix == ".db" else path / DATABASE_FILE
    return file.parent, file


def list_copies(folder: Path, file: Path | None) -> list[StoreCopy]:
    """All copies of a store, the one with the newest state first."""
    paths = [*(list_backups(file) if file is not None else ()), *(folder / BACKUP_FOLDER).glob("*.fabula")]
    return sorted((read_copy(path) for path in paths), key=lambda copy: (copy.state, copy.path.name), reverse=True)


def read_copy(path: Path) -> StoreCopy:
    """Read what a copy holds."""
    try:
        if path.suffix == ".db":
            reason = _REASON.search(path.name)
            return StoreCopy(path=path, projects=tuple(read_projects(path)), reason=reason[1] if reason else "")
        from fabula.store.save.reader import SaveReader  # lists of copies of a store do not need it

        with SaveReader(path) as save:
            saved, made = save.manifest.project, save.manifest.created_at
        return StoreCopy(path=path, projects=(CopiedProject(id=saved.id, title=saved.title, changed=made),))
    except (FabulaError, OSError, sqlite3.Error) as error:
        return StoreCopy(path=path, problem=str(error))


def read_projects(file: Path) -> Iterator[CopiedProject]:
    """Read the projects of a SQLite store, of this version or an older one; nothing is changed."""
    with closing(sqlite3.connect(f"file:{quote(str(file))}?mode=ro", uri=True)) as connection:
        columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(heads)")]
        older = "SELECT owner, max(at) FROM changes GROUP BY owner"  # before version 0021
        times = "SELECT owner, changed FROM heads" if "changed" in columns else older
        changed = dict(connection.execute(times).fetchall())
        for ident, title, kind, at in connection.execute("SELECT project_id, title, kind, changed FROM projects"):
            last = max(at, changed.get(f"project:{ident}") or "")
            yield CopiedProject(id=ident, title=title, kind=kind, changed=last)


def find_copy(folder: Path, file: Path | None, name: str) -> StoreCopy:
    """Find a copy by its number in the list, by its name, or by a path."""
    copies = list_copies(folder, file)
    if name.isdecimal() and 0 < int(name) <= len(copies):
        return copies[int(name) - 1]
    for copy in copies:
        if name in (copy.path.name, copy.path.stem, str(copy.path)):
            return copy
    path = Path(name)
    if path.suffix in (".db", ".fabula") and path.is_file():
        return read_copy(path)
    raise FabulaError(
        Code.STORE_NOT_FOUND,
        message(
            "There is no copy {name!r}. {advice} Nothing was changed.",
            name=name,
            advice=advise(
                message("Use a number or a name that `fabula backup list` shows, or the path of a copy."),
                message("Use a number or a name from the list of backups, or the path of a copy."),
            ),
        ),
    )
