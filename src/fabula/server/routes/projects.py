"""Routes of projects, series, and changes that can be undone (man-3, sav-2)."""

from __future__ import annotations

from msgspec.structs import replace

from fabula.access.model import Right
from fabula.manuscript.projects import ProjectSummary
from fabula.server.routes.route import Answer, Call, Route, make_list, make_record, mount
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
    return call.workspace.describe_contents(project.id)


def _describe_summary(summary: ProjectSummary, call: Call) -> ProjectContents:
    return call.workspace.describe_contents(summary.id)


def _select_visible(call: Call) -> list[ProjectInfo]:
    """Return the projects that the caller belongs to; who may not read all of one is told of what it may read."""
    own = [one for one in call.workspace.describe_projects() if call.access.find_membership(one.id) is not None]
    return [one if call.access.has_right(Right.READ, one.id) else _hide_size(one, call) for one in own]


def _hide_size(project: ProjectInfo, call: Call) -> ProjectInfo:
    principal = call.access.make_principal(project.id)
    chapters = call.workspace.project(project.id, principal).reading.list_chapters() if has_limits(principal) else []
    return limit_project(project, [one.length for one in chapters])


_CONTENTS = Answer(ProjectContents)
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
        Route("PUT", "/projects/{project}/title", "rename_project", Right.MANAGE, _SUMMARY, {"title": "Harrow Light"}),
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
        ),
        Route("DELETE", "/projects/{project}/series", "leave_series", Right.STORE, _SUMMARY),
    ),
)
