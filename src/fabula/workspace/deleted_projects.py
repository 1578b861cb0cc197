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
from fabula.manuscript import projects
from fabula.store.backup import make_stamp, sort_by_number
from fabula.store.database_errors import translate_errors
from fabula.store.save.loading import load_save
from fabula.store.save.reader import SaveReader
from fabula.store.save.saving import save_transaction
from fabula.store.store import Store
from fabula.workspace.names import find_by_name

log = logging.getLogger("fabula.workspace")

DELETED_FOLDER = "deleted"
MAX_DELETED = 20
_STAMP = "%Y-%m-%dT%H%M%S%fZ"
_NAME = re.compile(r"(\d{4}-\d\d-\d\dT\d{12}Z)(?:-\d{6})?-[0-9a-f]+\.fabula")


class DeletedProject(Struct, frozen=True, kw_only=True):
    """A project that was deleted, and the save that it can be restored from."""

    id: str
    title: str
    deleted_at: str
    path: Path


def delete_project(store: Store, project_id: str) -> DeletedProject:
    """Delete a project with everything in it, after saving it in the data folder."""
    now = datetime.now(UTC)
    folder = store.folder / DELETED_FOLDER
    hashed = sha256(project_id.encode()).hexdigest()[:12]
    path = folder / f"{make_stamp(folder, now.strftime(_STAMP))}-{hashed}.fabula"
    with translate_errors():
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with store.write(project=project_id) as tx:
            manifest = save_transaction(tx, path)
            projects.remove_rows(tx)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    _remove_oldest(store)
    title = manifest.project.title
    return DeletedProject(id=project_id, title=title, deleted_at=_show_time(now), path=path)


def list_deleted(store: Store) -> list[DeletedProject]:
    """The deleted projects that can be restored, the latest first."""
    found: list[DeletedProject] = []
    for path, time in reversed(_list_saves(store)):
        try:
            with SaveReader(path) as save:
                project = save.manifest.project
        except FabulaError as error:
            log.warning("the save of a deleted project cannot be read: %s", error.code.value)
            continue
        found.append(DeletedProject(id=project.id, title=project.title, deleted_at=_show_time(time), path=path))
    return found


def restore_project(store: Store, name: str) -> DeletedProject:
    """Bring a deleted project back under its id, by that id or its title; of several, the one deleted last."""
    latest = {one.id: one for one in reversed(list_deleted(store))}
    found = find_by_name(
        latest.values(),
        name,
        what=message("deleted project"),
        names_of=lambda one: (one.title,),
        code=Code.PROJECT_NOT_FOUND,
    )
    load_save(store, found.path, project_id=found.id, user=None)
    found.path.unlink(missing_ok=True)
    return found


def _list_saves(store: Store) -> list[tuple[Path, datetime]]:
    """The saves of deleted projects with their times, the oldest first."""
    named = [
        (path, _NAME.fullmatch(path.name)) for path in sort_by_number((store.folder / DELETED_FOLDER).glob("*.fabula"))
    ]
    return [
        (path, datetime.strptime(matched[1], _STAMP).replace(tzinfo=UTC))
        for path, matched in named
        if matched is not None
    ]


def _remove_oldest(store: Store) -> None:
    for path, _ in _list_saves(store)[:-MAX_DELETED]:
        path.unlink(missing_ok=True)


def _show_time(time: datetime) -> str:
    return time.isoformat(timespec="microseconds").replace("+00:00", "Z")
