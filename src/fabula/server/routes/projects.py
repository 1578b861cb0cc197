"""Routes of projects, series, and changes that can be undone (man-3, sav-2)."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from fabula.access.model import Right
from fabula.manuscript.projects import ALLOW_DUPLICATE, ProjectSummary, check_title
from fabula.server.access import list_own_projects, make_store_principal, refuse_project
from fabula.server.routes.route import Answer, Call, Route, make_list, make_record, mount
from fabula.text.lookup import find_matches
from fabula.workspace.grants import has_limits
from fabula.workspace.project import ProjectHandle
from fabula.workspace.schemas.changes import (
    ChangeInfo,
    DeletedProjectInfo,
    ReversedChangeInfo,
    describe_change,
    describe_deleted,
    describe_reversed,
)
from fabula.workspace.schemas.models import ChosenModelInfo, SampleInfo, describe_choice, describe_sample
from fabula.workspace.schemas.projects import (
    BookInfo,
    CopyInfo,
    ProjectContents,
    ProjectInfo,
    describe_book,
    describe_copy,
    limit_project,
)


def _describe_created(project: ProjectHandle, call: Call) -> ProjectContents:
    """Describe a new project; the caller did not belong to it when the request came, and it is the last of its own."""
    made, own = call.workspace.describe_contents(project.id), list_own_projects(call.workspace, call.access)
    return made if call.access.everywhere is not None else replace(made, number=len(own) + 1)


def _create(call: Call) -> ProjectHandle:
    """Make a project; who is not the owner of the store becomes its owner."""
    if call.access.everywhere is not None:
        return call.workspace.create_project(**call.arguments)
    return call.workspace.account(principal=make_store_principal(call.access)).create_project(**call.arguments)


def _describe_summary(summary: ProjectSummary, call: Call) -> ProjectContents:
    return _with_own_number(call.workspace.describe_contents(summary.id), call)


def _select_visible(call: Call) -> list[ProjectInfo]:
    """Return the projects that the caller belongs to; who may not read all of one is told of what it may read."""
    numbers = {one.id: one.number for one in list_own_projects(call.workspace, call.access)}
    known = call.workspace.describe_projects()
    own = [replace(one, number=numbers[one.id]) for one in known if one.id in numbers]
    return [one if call.access.has_right(Right.READ, one.id) else _hide_size(one, call) for one in own]


def _with_own_number(project: ProjectContents, call: Call) -> ProjectContents:
    """Return a project with the number that the list of the caller's projects has for it."""
    own = list_own_projects(call.workspace, call.access)
    return replace(project, number=next((one.number for one in own if one.id == project.id), project.number))


def _hide_size(project: ProjectInfo, call: Call) -> ProjectInfo:
    principal = call.access.make_principal(project.id)
    chapters = call.workspace.project(project.id, principal).reading.list_chapters() if has_limits(principal) else []
    return limit_project(project, [one.length for one in chapters])


def _rename(call: Call) -> ProjectSummary:
    """Rename a project; a title that only a project of others has is free."""
    given = dict(call.arguments)
    if call.access.everywhere is None and not given["allow_duplicate"]:
        own = list_own_projects(call.workspace, call.access)
        title: str = given["title"]
        check_title(call.workspace.store, title.strip(), ALLOW_DUPLICATE, except_for=call.handle.id, among=own)
        given["allow_duplicate"] = True
    return call.workspace.rename_project(call.handle.id, **given)


def _join_series(call: Call) -> Any:
    """Let a book join a series, which the caller must own too; the series of others are not there."""
    name: str = call.arguments["name"]
    if call.access.everywhere is None:
        own = [
            one
            for one in list_own_projects(call.workspace, call.access)
            if one.kind == "series" and call.access.has_right(Right.STORE, one.id)
        ]
        found = find_matches(own, name, names_of=lambda one: (one.title,), number_of=lambda one: one.number)
        if len(found) != 1:
            raise refuse_project()
        name = found[0].id
    return call.workspace.join_series(call.handle.id, name)


_CONTENTS = Answer(ProjectContents, _with_own_number)
_MODEL = Answer(ChosenModelInfo, describe_choice)
_SUMMARY = Answer(ProjectContents, _describe_summary)
_DELETED = Answer(DeletedProjectInfo, describe_deleted)
_CHANGE = Answer(ChangeInfo, describe_change)
_REVERSED = Answer(ReversedChangeInfo, describe_reversed)
_COPY = Answer(CopyInfo, lambda copy: replace(describe_copy(copy), path=copy.path.name))  # not where the machine has it
_BOOKS = Answer(tuple[BookInfo, ...], lambda books: tuple(map(describe_book, books)))


ROUTES = mount(
    "workspace",
    "",
    (
        Route("GET", "/backups", "list_backups", Right.STORE, make_list(_COPY, "path.name")),
        Route("POST", "/backups", "make_backup", Right.STORE, _COPY, creates=True),
        Route(
            "GET", "/projects", "describe_projects", Right.SIGN_IN, make_list(Answer(ProjectInfo)), call=_select_visible
        ),
        Route(
            "POST",
            "/projects",
            "create_project",
            Right.STORE,
            Answer(ProjectContents, _describe_created),
            {"title": "The Return", "language": "en"},
            creates=True,
            call=_create,
            is_for_people=True,
        ),
        Route("GET", "/projects/{project}", "describe_contents", Right.READ, _CONTENTS),
        Route("GET", "/samples", "list_samples", Right.STORE, make_list(Answer(SampleInfo, describe_sample), "name")),
        Route(
            "POST",
            "/samples/{sample}/copies",
            "copy_sample",
            Right.STORE,
            Answer(ProjectContents, _describe_created),
            creates=True,
        ),
        Route("GET", "/model", "choose_model", Right.SIGN_IN, _MODEL, types={"project": None}),
        Route("GET", "/projects/{project}/model", "choose_model", Right.READ, _MODEL),
        Route(
            "PUT",
            "/projects/{project}/title",
            "rename_project",
            Right.MANAGE,
            _SUMMARY,
            {"title": "Harrow Light"},
            call=_rename,
        ),
        Route(
            "PUT",
            "/projects/{project}/language",
            "change_language",
            Right.MANAGE,
            _SUMMARY,
            {"language": "en"},
        ),
        Route("DELETE", "/projects/{project}", "delete_project", Right.STORE, _DELETED),
        Route("GET", "/deleted-projects", "list_deleted_projects", Right.STORE, make_list(_DELETED)),
        Route("POST", "/deleted-projects/{deleted}/restore", "restore_project", Right.STORE, _DELETED),
        Route("GET", "/changes", "list_changes", Right.STORE, make_list(_CHANGE, "step.number")),
        Route("POST", "/undo", "undo", Right.STORE, _REVERSED),
        Route("POST", "/redo", "redo", Right.STORE, _REVERSED),
        Route("GET", "/projects/{project}/changes", "list_changes", Right.READ, make_list(_CHANGE, "step.number")),
        Route("POST", "/projects/{project}/undo", "undo", Right.EDIT, _REVERSED),
        Route("POST", "/projects/{project}/redo", "redo", Right.EDIT, _REVERSED),
        Route(
            "POST",
            "/series",
            "create_series",
            Right.STORE,
            make_record("NewSeries", id=Answer(str)),
            {"title": "The Coast"},
            creates=True,
        ),
        Route("GET", "/series/{series}/books", "list_books", Right.STORE, make_record("SeriesBooks", books=_BOOKS)),
        Route(
            "PUT",
            "/series/{series}/books",
            "order_books",
            Right.STORE,
            make_record("OrderedBooks", books=_BOOKS),
            {"books": ["The Lantern Coast"]},
        ),
        Route(
            "PUT",
            "/projects/{project}/series",
            "join_series",
            Right.STORE,
            make_record("JoinedSeries", book=_SUMMARY, series=_SUMMARY, books=_BOOKS),
            {"name": "The Coast"},
            call=_join_series,
        ),
        Route("DELETE", "/projects/{project}/series", "leave_series", Right.STORE, _SUMMARY),
    ),
)
