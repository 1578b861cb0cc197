"""Restoring: bring a project, or a whole SQLite store, back from a copy. What is there now is copied first.

A project comes back as a save made from the copy, so it is checked and loaded like any other save, in one transaction.
A whole store is replaced by SQLite's own backup, which waits for other processes and is complete or not done at all.
Versions go up and never back, so that no process takes an old view for a current one.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct
from sqlalchemy import text

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp
from fabula.core.messages import join_names, message
from fabula.core.new_files import make_private_file, make_private_folder
from fabula.store.backup import BACKUP_FOLDER, back_up, make_stamp
from fabula.store.connections import begin
from fabula.store.copies import CopiedProject, StoreCopy
from fabula.store.database_errors import translate_errors
from fabula.store.save.loading import LoadResult, load_save
from fabula.store.save.reader import SaveReader
from fabula.store.save.saving import save_project
from fabula.store.store import Store
from fabula.store.upgrade import upgrade_store
from fabula.text.lookup import MAX_NAMED, find_by_name

BEFORE_RESTORE = "before-restore"


class RestoreResult(Struct, frozen=True, kw_only=True):
    """What was brought back, and where the state before is kept; None where there was nothing."""

    projects: tuple[CopiedProject, ...]
    backup: Path | None = None
    loaded: LoadResult | None = None  # of a single project


def restore_project(store: Store, copy: StoreCopy, name: str | None = None) -> RestoreResult:
    """Bring one project back under its own id; the present one of that id is saved first."""
    _check_readable(copy)
    project = _find_project(copy, name)
    with TemporaryDirectory(prefix="fabula-restore-") as folder:
        save = copy.path
        if copy.is_whole_store:
            save = Path(folder) / "project.fabula"
            opened = _open_copy(copy, Path(folder))
            try:
                save_project(opened, project.id, save, user=None)
            finally:
                opened.close()
        with SaveReader(save, is_trusted=True) as reader:
            saved = reader.manifest.series
        series = [row.project_id for row in store.project_rows() if row.kind == "series"]
        loaded = load_save(
            store,
            save,
            project_id=project.id,
            replace=True,
            user=None,
            join_series=saved.id if saved is not None and saved.id in series else None,
            share_entries=False,
            is_trusted=True,
        )
    return RestoreResult(projects=(project,), backup=loaded.backup, loaded=loaded)


def restore_store(file: Path, copy: StoreCopy) -> RestoreResult:
    """Replace a whole SQLite store by a copy of it; the present one is copied first."""
    _check_readable(copy)
    if not copy.is_whole_store:
        raise FabulaError(
            Code.REQUEST_INVALID,
            message("{name} is a save of one project, not a whole store. Nothing was changed.", name=copy.path.name),
        )
    with translate_errors(), TemporaryDirectory(prefix="fabula-restore-") as folder:
        opened = _open_copy(copy, Path(folder))
        try:
            _check_integrity(opened, copy)
            _raise_versions(opened, _read_versions(file))
        finally:
            opened.close()
        assert opened.file is not None
        backup = _keep_present(file)
        make_private_folder(file.parent)
        make_private_file(file)
        with closing(sqlite3.connect(opened.file)) as source, closing(sqlite3.connect(file)) as target:
            source.backup(target)
    return RestoreResult(projects=copy.projects, backup=backup)


def _check_readable(copy: StoreCopy) -> None:
    if copy.problem:
        raise FabulaError(
            Code.STORE_DAMAGED,
            message(
                "{name} cannot be read ({problem}). Nothing was changed. Use another copy.",
                name=copy.path.name,
                problem=copy.problem,
            ),
        )


def _find_project(copy: StoreCopy, name: str | None) -> CopiedProject:
    if name is not None:
        return find_by_name(
            copy.projects,
            name,
            what=message("project"),
            names_of=lambda one: (one.title,),
            number_of=lambda one: None,
            code=Code.PROJECT_NOT_FOUND,
        )
    if len(copy.projects) == 1:
        return copy.projects[0]
    titles = [one.title for one in copy.projects]
    raise FabulaError(
        Code.PROJECT_NOT_FOUND,
        message(
            "Name one project of this copy. It holds {count}: {projects}. Nothing was changed.",
            count=len(titles),
            projects=join_names([*titles[:MAX_NAMED], *(["…"] if len(titles) > MAX_NAMED else [])]),
        ),
    )


def _open_copy(copy: StoreCopy, folder: Path) -> Store:
    """Open a copy of the copy, with the tables of this version; the copy itself is not touched."""
    file = folder / "copy.db"
    with translate_errors():
        shutil.copyfile(copy.path, file)
        opened = Store.open(file, inspect_only=True)
        try:
            upgrade_store(opened.engine, file=None)
        except BaseException:
            opened.close()
            raise
    return opened


def _check_integrity(opened: Store, copy: StoreCopy) -> None:
    with opened.engine.connect() as connection:
        problems = [str(row[0]) for row in connection.execute(text("PRAGMA integrity_check(1)"))]
    if problems != ["ok"]:
        _check_readable(StoreCopy(path=copy.path, problem=problems[0]))


def _read_versions(file: Path) -> dict[str, int]:
    """The versions of all owners in the present store; none where it cannot be read."""
    versions: dict[str, int] = {}
    if file.exists():
        with suppress(sqlite3.Error), closing(sqlite3.connect(file)) as connection:
            versions.update(connection.execute("SELECT owner, version FROM heads").fetchall())
    return versions


def _raise_versions(opened: Store, present: dict[str, int]) -> None:
    """Give every owner a version above both, with a row in the change feed."""
    at = current_timestamp()
    with opened.engine.connect() as connection, begin(connection, writing=True):
        copied = {str(row.owner): int(row.version) for row in connection.execute(text("SELECT * FROM heads"))}
        upsert = (
            "INSERT INTO heads (owner, version, changed) VALUES (:owner, :version, :at)"
            " ON CONFLICT (owner) DO UPDATE SET version = excluded.version, changed = excluded.changed, latest = ''"
        )
        for owner in copied.keys() | present.keys():
            values = {"owner": owner, "at": at, "version": max(copied.get(owner, 0), present.get(owner, 0)) + 1}
            connection.execute(text(upsert), values)
            query = "INSERT INTO changes (owner, version, room, item, at) VALUES (:owner, :version, 'project', '', :at)"
            connection.execute(text(query), values)


def _keep_present(file: Path) -> Path | None:
    """Copy the present store; a damaged one is moved away as it is. Older copies are not pruned."""
    if not file.exists():
        return None
    try:
        return back_up(file, reason=BEFORE_RESTORE, keep=0)
    except FabulaError:
        folder = file.parent / BACKUP_FOLDER
        target = folder / f"{file.stem}-{make_stamp(folder)}-damaged.db"
        make_private_folder(folder)
        for suffix in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.replace(f"{file}{suffix}", f"{target}{suffix}")
        os.replace(file, target)
        return target
