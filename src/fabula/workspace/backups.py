"""List the copies of a store, and bring a project or the whole store back from one."""

from __future__ import annotations

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.store.copies import StoreCopy, find_copy, find_store_file, list_copies
from fabula.store.restoring import RestoreResult, restore_project, restore_store
from fabula.workspace.workspace import Workspace


def list_store_copies(location: str | None) -> list[StoreCopy]:
    """List the copies of a store with what they hold, the newest state first; the store itself may be lost."""
    return list_copies(*find_store_file(location))


def restore_copy(
    location: str | None, name: str, *, project: str | None = None, whole_store: bool = False
) -> RestoreResult:
    """Bring back one project, or the whole store, from a copy; what is there now is copied first."""
    folder, file = find_store_file(location)
    copy = find_copy(folder, file, name)
    if not whole_store:
        with Workspace.open(location) as workspace:
            return restore_project(workspace.store, copy, project)
    if project is not None:
        raise FabulaError(
            Code.REQUEST_INVALID, message("Name a project or the whole store, not both. Nothing was changed.")
        )
    if file is None:
        raise FabulaError(
            Code.REQUEST_INVALID,
            message("A PostgreSQL store is restored by its server. Restore single projects here. Nothing was changed."),
        )
    return restore_store(file, copy)
