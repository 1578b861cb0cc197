"""A workspace or project that was closed refuses every verb, and changes nothing."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fabula.context.request import Request
from fabula.core.errors import Code, FabulaError
from fabula.store.store import Store
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import open_read_only
from fabula.workspace.schemas.chat import ChatRequest
from fabula.workspace.verbs import LazyVerbs
from fabula.workspace.workspace import Workspace

NEED_NO_STORE = ("close", "open", "with_view", "add_mode", "list_samples", "list_providers", "with_principal")
REFUSED_FOR_MORE = {  # verbs that look at their arguments first, with the code of what is wrong there
    "ChapterVerbs.move": Code.REQUEST_INVALID,
    "ChatFileVerbs.import_files": Code.FILE_NOT_FOUND,
    "FactVerbs.use": Code.REQUEST_INVALID,
    "LorebookVerbs.import_file": Code.FILE_NOT_FOUND,
    "LorebookVerbs.name_limits": Code.REQUEST_INVALID,
    "ParticipantVerbs.import_card": Code.FILE_NOT_FOUND,
    "PresetVerbs.write": Code.PRESET_INVALID,
    "SettingVerbs.get": Code.SETTING_INVALID,
    "SettingVerbs.reset": Code.SETTING_INVALID,
    "SettingVerbs.set": Code.SETTING_INVALID,
    "SettingVerbs.set_text": Code.SETTING_INVALID,
    "Workspace.copy_sample": Code.PROJECT_NOT_FOUND,
    "PresetVerbs.preview": Code.PRESET_INVALID,
    "SettingVerbs.remove_provider_key": Code.SETTING_INVALID,
    "SettingVerbs.set_provider_key": Code.SETTING_INVALID,
}
SUBJECTS = [name for name, value in vars(ProjectHandle).items() if isinstance(value, LazyVerbs)]


def list_verbs(thing: object, *, without: tuple[str, ...] = ()) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, _ in inspect.getmembers(type(thing), inspect.isfunction):
        if not name.startswith("_") and name not in without:
            yield f"{type(thing).__name__}.{name}", getattr(thing, name)


def make_arguments(verb: Callable[..., Any]) -> tuple[list[Any], dict[str, Any]]:
    """An argument for each parameter that must be given."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for parameter in inspect.signature(verb).parameters.values():
        if parameter.default is not parameter.empty or parameter.kind in (
            parameter.VAR_KEYWORD,
            parameter.VAR_POSITIONAL,
        ):
            continue
        value = make_argument(str(parameter.annotation))
        if parameter.kind is parameter.KEYWORD_ONLY:
            named[parameter.name] = value
        else:
            positional.append(value)
    return positional, named


def make_argument(annotation: str) -> Any:
    if annotation == "Request":
        return Request(project_id="p", document_id="d", skill_id="continue")
    if annotation == "View":
        return open_read_only("sample:lantern_coast").view
    if annotation == "ChatRequest":
        return ChatRequest(message="x", project_id="Book")
    if annotation == "Result":
        sample = open_read_only("sample:lantern_coast")
        return sample.assemble(sample.request())
    if annotation == "ParticipantTextKind":
        return "prompt"
    if annotation.startswith("Mapping"):
        return {}
    if annotation.startswith("Callable"):
        return print
    if annotation.startswith("bytes"):
        return b'{"projectId": "p", "documentId": "d", "skillId": "continue"}'
    if annotation.startswith("Path"):
        return Path("nothing.md")
    if annotation.startswith(("int", "float", "PositiveInt")):
        return 1
    if annotation.startswith(("Sequence", "list", "tuple")):
        return ["x"]
    return "x"


def call(verb: Callable[..., Any]) -> object:
    """The code with which a verb is refused, or whatever else it does."""
    positional, named = make_arguments(verb)
    try:
        result = verb(*positional, **named)
        if inspect.isasyncgen(result):
            result = asyncio.run(result.__anext__())
        elif inspect.iscoroutine(result):
            result = asyncio.run(result)
    except FabulaError as error:
        return error.code
    except Exception as error:
        return error
    return result


def test_a_closed_workspace_refuses_every_verb(tmp_path: Path) -> None:
    workspace = Workspace.open(tmp_path)
    project = workspace.create_project("Book")
    things = [workspace, project, workspace.settings(), *(getattr(project, name) for name in SUBJECTS)]
    workspace.close()
    workspace.close()
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    answers = {name: call(verb) for thing in things for name, verb in list_verbs(thing, without=NEED_NO_STORE)}
    assert {name: code for name, code in answers.items() if code is not Code.STORE_CLOSED} == REFUSED_FOR_MORE
    assert len(answers) > 100
    assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


def test_a_closed_project_outside_the_store_refuses_every_verb() -> None:
    project = open_read_only("sample:lantern_coast")
    project.close()
    answers = {name: call(verb) for name, verb in list_verbs(project, without=NEED_NO_STORE)}
    assert set(answers.values()) == {Code.STORE_CLOSED}


def test_a_project_that_was_closed_leaves_the_others_of_its_workspace_open(tmp_path: Path) -> None:
    with Workspace.open(tmp_path) as workspace:
        closed, other = workspace.create_project("One"), workspace.create_project("Two")
        closed.close()
        assert call(closed.request) is Code.STORE_CLOSED
        assert other.view.project.title == "Two"
        assert workspace.project("One").view.project.title == "One"


def test_a_closed_store_opens_no_connection(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    store.close()
    for use in (store.project_ids, lambda: store.engine, lambda: store.versions(project="p")):
        assert call(use) is Code.STORE_CLOSED
    assert not list(tmp_path.glob("*-wal"))
