"""Routes of files: import and export of manuscripts, saves, lorebooks, cards and chats (man-6, sav-2)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from fabula.access.model import Right
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import join_names, message
from fabula.formats.manuscripts.files import WRITERS
from fabula.server.routes.conversations import PARTICIPANT
from fabula.server.routes.lorebooks import CONTENTS
from fabula.server.routes.route import Answer, Call, Route
from fabula.store.save.loading import LoadResult
from fabula.store.slugs import make_slug
from fabula.workspace.project import ProjectHandle
from fabula.workspace.schemas.conversations import ChatImportInfo, describe_chat_import
from fabula.workspace.schemas.saves import LoadChoices, LoadedSave, SaveInspection, describe_load
from fabula.workspace.schemas.transfer import ImportInfo, UpdateInfo, describe_import, describe_update
from fabula.workspace.transfer import ImportReport, UpdateReport

FILE = Answer(bytes)


class ExportQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The format of a file, by its ending."""

    format: str = "md"


def _import(call: Call) -> ImportReport:
    return call.workspace.import_manuscript(call.path_to_file, **call.arguments)


def _update(call: Call) -> UpdateReport:
    return call.workspace.update_manuscript(
        call.path_to_file, call.handle.id, principal=call.handle.principal, **call.arguments
    )


def _load(call: Call) -> Any:
    choices = LoadChoices(**call.arguments)
    return call.workspace.load_save(call.path_to_file, choices)


def _describe_load(loaded: LoadResult, call: Call) -> LoadedSave:
    title = call.workspace.project(loaded.project_id).view.project.title
    return describe_load(loaded, title, call.language)


def _inspect(call: Call) -> SaveInspection:
    return call.workspace.inspect_save(call.path_to_file, language=call.language)


def _name_file(project: ProjectHandle, ending: str) -> str:
    return f"{make_slug(project.view.project.title) or 'project'}.{ending}"


def _export(call: Call) -> Path:
    ending = call.arguments["format"].lower()
    if f".{ending}" not in WRITERS:
        raise FabulaError(
            Code.REQUEST_INVALID,
            message(
                "A manuscript has no format {format!r}. Name one of these in `format`: {formats}.",
                format=ending[:20],
                formats=join_names(one.removeprefix(".") for one in WRITERS),
            ),
        )
    target = call.path_to_file / _name_file(call.handle, ending)
    call.handle.export(target)
    return target


def _save(call: Call) -> Path:
    return call.handle.save(call.path_to_file / _name_file(call.handle, "fabula"), **call.arguments).path


def _write_to(name: str, verb: Callable[[Call, Path], Any]) -> Callable[[Call], Path]:
    """Return a call that lets a verb write a file of this name."""

    def write(call: Call) -> Path:
        target = call.path_to_file / name
        verb(call, target)
        return target

    return write


_BOOK = "book.json"
_UPLOAD: dict[str, Any] = {"file": "upload"}
_DOWNLOAD: dict[str, Any] = {"file": "download"}

ROUTES = (
    Route(
        "POST",
        "/imports",
        "workspace.import_manuscript",
        Right.STORE,
        Answer(ImportInfo, describe_import),
        {"title": "An Old Book"},
        creates=True,
        call=_import,
        types={"into": str | None},
        **_UPLOAD,
    ),
    Route(
        "POST",
        "/projects/{project}/manuscript",
        "workspace.update_manuscript",
        Right.EDIT,
        Answer(UpdateInfo, describe_update),
        {"preview": True},
        call=_update,
        types={"into": None},
        **_UPLOAD,
    ),
    Route(
        "GET",
        "/projects/{project}/manuscript",
        "project.export",
        Right.READ,
        FILE,
        {"format": "md"},
        request=ExportQuery,
        call=_export,
        **_DOWNLOAD,
    ),
    Route(
        "POST",
        "/saves/inspect",
        "workspace.inspect_save",
        Right.STORE,
        Answer(SaveInspection),
        call=_inspect,
        types={"language": None},
        **_UPLOAD,
    ),
    Route(
        "POST",
        "/saves",
        "workspace.load_save",
        Right.STORE,
        Answer(LoadedSave, _describe_load),
        {"beside": True},
        creates=True,
        request=LoadChoices,
        call=_load,
        **_UPLOAD,
    ),
    Route(
        "GET",
        "/projects/{project}/save",
        "project.save",
        Right.MANAGE,
        FILE,
        {"withPerson": False},
        call=_save,
        **_DOWNLOAD,
    ),
    Route(
        "POST",
        "/projects/{project}/lorebooks/import",
        "lorebooks.import_file",
        Right.EDIT,
        CONTENTS,
        {"rules": "exact"},
        creates=True,
        call=lambda call: call.handle.lorebooks.import_file(call.path_to_file, **call.arguments),
        **_UPLOAD,
    ),
    Route(
        "GET",
        "/projects/{project}/lorebooks/{book}/file",
        "lorebooks.export_file",
        Right.READ,
        FILE,
        {"asWorldInfo": True},
        call=_write_to(
            _BOOK, lambda call, path: call.handle.lorebooks.export_file(call.path[0], path, **call.arguments)
        ),
        types={"into": None},
        **_DOWNLOAD,
    ),
    Route(
        "POST",
        "/projects/{project}/participants/import",
        "participants.import_card",
        Right.EDIT,
        Answer(PARTICIPANT.kind, lambda made, call: PARTICIPANT.make(made.participant, call)),
        {"namespace": "persona"},
        creates=True,
        call=lambda call: call.handle.participants.import_card(call.path_to_file, **call.arguments),
        **_UPLOAD,
    ),
    Route(
        "GET",
        "/projects/{project}/participants/{participant}/card/file",
        "participants.export_card",
        Right.READ,
        FILE,
        {"version": 2},
        call=_write_to(
            "card.json", lambda call, path: call.handle.participants.export_card(call.path[0], path, **call.arguments)
        ),
        types={"into": None},
        **_DOWNLOAD,
    ),
    Route(
        "POST",
        "/projects/{project}/conversations/import",
        "chat_files.import_files",
        Right.EDIT,
        Answer(ChatImportInfo, describe_chat_import),
        creates=True,
        call=lambda call: call.handle.chat_files.import_files(call.path_to_file),
        **_UPLOAD,
    ),
    Route(
        "GET",
        "/projects/{project}/conversations/{conversation}/file",
        "chat_files.export_file",
        Right.READ,
        FILE,
        call=_write_to(
            "chat.jsonl", lambda call, path: call.handle.chat_files.export_file(call.path[0], path, **call.arguments)
        ),
        **_DOWNLOAD,
    ),
)
