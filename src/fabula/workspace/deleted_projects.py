"""Deleted projects: each is kept as a save in the data folder for a while, and comes back whole (man-7).

The save is made in the transaction that deletes the project, so nothing is lost between the two. The newest
`MAX_DELETED` are kept, by the numbers in their names: a wrong clock removes none of them.
"""

from __future__ import annotations

import logging
import re
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.core.new_files import make_private_folder
from fabula.manuscript import projects
from fabula.store import undo
from fabula.store.backup import make_stamp, sort_by_number
from fabula.store.book_order import list_member_ids, read_order, set_series_of_books
from fabula.store.database_errors import translate_errors
from fabula.store.save.loading import load_save
from fabula.store.save.reader import SaveReader
from fabula.store.save.saving import save_transaction
from fabula.store.store import LOCAL_USER, Store
from fabula.workspace.names import find_by_name

log = logging.getLogger("fabula.workspace")

DELETED_FOLDER = "deleted"
MAX_DELETED = 20
_STAMP = "%Y-%m-%dT%H%M%S%fZ"
_UNDONE = "-undone"  # in the name of a save: an undo deleted the project, and a redo brings it back
_NAME = re.compile(rf"(\d{{4}}-\d\d-\d\dT\d{{12}}Z)(?:-\d{{6}})?-[0-9a-f]+({_UNDONE})?\.fabula")


class DeletedProject(Struct, frozen=True, kw_only=True):
    """A project that was deleted, and the save that it can be restored from."""

    id: str
    title: str
    deleted_at: str
    path: Path
    by_undo: bool = False


def delete_project(store: Store, project_id: str, *, by_undo: bool = False) -> DeletedProject:
    """Delete a project with everything in it, after saving it in the data folder.

    With `by_undo`, what its creation changed elsewhere (the order of its series, the person's own) is undone first.
    """
    now = datetime.now(UTC)
    folder = store.folder / DELETED_FOLDER
    hashed = sha256(project_id.encode()).hexdigest()[:12]
    path = folder / f"{make_stamp(folder, now.strftime(_STAMP))}-{hashed}{_UNDONE if by_undo else ''}.fabula"
    with translate_errors():
        make_private_folder(path.parent)
    members = list_member_ids(store, project_id)
    try:
        with store.write(project=project_id, user=LOCAL_USER if by_undo else None, books=members) as tx:
            if list_member_ids(store, project_id) != members:
                raise FabulaError(
                    Code.STORE_CONFLICT,
                    message("Another book joined or left the series in the meantime. Try again. Nothing was changed."),
                )
            manifest = save_transaction(tx.of_project(), path)
            if by_undo:
                undo.undo(tx)
            set_series_of_books(tx, members, None)
            projects.remove_rows(tx)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    _remove_oldest(store)
    title = manifest.project.title
    return DeletedProject(id=project_id, title=title, deleted_at=_show_time(now), path=path, by_undo=by_undo)


def list_deleted(store: Store) -> list[DeletedProject]:
    """The deleted projects that can be restored, the latest first."""
    found: list[DeletedProject] = []
    for path, time, by_undo in reversed(_list_saves(store)):
        try:
            with SaveReader(path, is_trusted=True) as save:
                project = save.manifest.project
        except FabulaError as error:
            log.warning("the save of a deleted project cannot be read: %s", error.code.value)
            continue
        deleted = DeletedProject(
            id=project.id, title=project.title, deleted_at=_show_time(time), path=path, by_undo=by_undo
        )
        found.append(deleted)
    return found


def restore_project(store: Store, name: str) -> DeletedProject:
    """Bring a deleted project back under its id, by id, title or number; of several, the one deleted last."""
    deleted = list_deleted(store)
    latest = {one.id: one for one in reversed(deleted)}
    numbers = {one.path: number for number, one in enumerate(deleted, start=1)}
    found = find_by_name(
        latest.values(),
        name,
        what=message("deleted project"),
        names_of=lambda one: (one.title,),
        number_of=lambda one: numbers[one.path],
        code=Code.PROJECT_NOT_FOUND,
    )
    label = message("{title} brought back", title=found.title)
    load_save(store, found.path, project_id=found.id, is_trusted=True, undo_label=label, is_redo=True)
    with store.read(project=found.id) as reading:
        books = read_order(reading)
    with store.write(project=found.id, books=books) as tx:
        set_series_of_books(tx, books, found.id)
    found.path.unlink(missing_ok=True)
    return found


def _list_saves(store: Store) -> list[tuple[Path, datetime, bool]]:
    """The saves of deleted projects with their times and whether an undo deleted them, the oldest first."""
    named = [
        (path, _NAME.fullmatch(path.name)) for path in sort_by_number((store.folder / DELETED_FOLDER).glob("*.fabula"))
    ]
    return [
        (path, datetime.strptime(matched[1], _STAMP).replace(tzinfo=UTC), matched[2] is not None)
        for path, matched in named
        if matched is not None
    ]


def _remove_oldest(store: Store) -> None:
    for path, _, _ in _list_saves(store)[:-MAX_DELETED]:
        path.unlink(missing_ok=True)


def _show_time(time: datetime) -> str:
    return time.isoformat(timespec="microseconds").replace("+00:00", "Z")
