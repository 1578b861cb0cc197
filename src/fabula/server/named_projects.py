"""Finds the project that a caller names, by its id, its title or its number, among those that the caller belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fabula.core.errors import Code, FabulaError
from fabula.server.access import Access, list_own_projects, refuse_project
from fabula.server.security import get_access, load_access
from fabula.settings.values import SettingValues
from fabula.text.lookup import find_matches, fold_name
from fabula.workspace.account import CREATION_SETTING
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace

Requested = tuple[Access, ProjectHandle]


def open_project(workspace: Workspace, access: Access, name: str, *, verb: str = "") -> ProjectHandle:
    """Open a project for a caller, by its id, or by its title or number among those that the caller belongs to.

    A project that is not there and one that the caller does not belong to are refused in the same words.
    """
    if access.everywhere is not None and name not in access.memberships:
        return workspace.project(name, access.make_principal(name, verb=verb))
    ident = name if name in access.memberships else _find_own_project(workspace, access, name)
    principal = access.make_principal(ident, verb=verb)
    try:
        project = workspace.project(ident, principal)
    except FabulaError as error:
        if error.code is not Code.PROJECT_NOT_FOUND:
            raise
        raise refuse_project() from None
    if project.id != ident:  # another project is called as this one, which is gone
        raise refuse_project()
    return project


def open_requested(workspace: Workspace, scope: Mapping[str, Any], name: str, *, verb: str = "") -> Requested:
    """Open the project of a request, and return the caller with it.

    Where people create projects, one that is not found may have been created in another process just now.
    """
    access = get_access(scope)
    try:
        return access, open_project(workspace, access, name, verb=verb)
    except FabulaError as error:
        is_settled = access.everywhere is not None or SettingValues()[CREATION_SETTING] <= 0
        if error.code is not Code.PROJECT_NOT_FOUND or is_settled:
            raise
    access = load_access(scope)
    return access, open_project(workspace, access, name, verb=verb)


def check_whole_name(workspace: Workspace, access: Access, project: ProjectHandle, name: str) -> None:
    """Refuse a name that is only a part of the title or of the id of a project, as one that means nothing."""
    summary = next(one for one in list_own_projects(workspace, access) if one.id == project.id)
    if fold_name(name) not in map(fold_name, (summary.id, summary.title, str(summary.number))):
        raise refuse_project()


def _find_own_project(workspace: Workspace, access: Access, name: str) -> str:
    """Return the id of the one project of a caller that a name means."""
    own = list_own_projects(workspace, access)
    found = find_matches(own, name, names_of=lambda one: (one.title,), number_of=lambda one: one.number)
    if len(found) != 1:
        raise refuse_project()
    return found[0].id
