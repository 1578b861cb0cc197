"""Every example of the description works: a real server answers it as the type and the example of the answer say."""

from __future__ import annotations

import re
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any

import httpx2
import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest

from fabula.conversation.tables import recaps
from fabula.server.answer_examples import EXAMPLES_FILE, OPENAI_REFUSAL, list_refusals, load_answer_examples
from fabula.server.openapi import BINARY, make_document
from fabula.server.routes import ROUTES, Route
from fabula.workspace.project import EmbeddedTexts, ProjectHandle
from fabula.workspace.schemas.events import ProjectEvent
from fabula.workspace.workspace import Workspace
from tests.blank import lay
from tests.llm.server import ModelServer, openai_answer
from tests.server.answers import check_answer, check_event, check_refusal, check_untyped, read_events
from tests.server.requests import make_url, send
from tests.server.running import run_server
from tests.server.stories import prepare
from tests.workspace.test_completions import model

__all__ = ["model"]

REFUSED = {  # what no story has by itself: a run, an assembly, a recap, something that was just undone or deleted
    "account.end_session": "STORE_NOT_FOUND",
    "account.set_password": "CONTEXT_REQUEST_INVALID",  # the owner of a store has none
    "chat.take_back": "STORE_NOT_FOUND",
    "conversations.undo_delete": "STORE_CONFLICT",
    "codex.preview_share": "PROJECT_INVALID",
    "codex.share": "PROJECT_INVALID",
    "codex.undo_rename": "STORE_NOT_FOUND",
    "participants.export_card": "STORE_NOT_FOUND",
    "project.report_answer": "CONTINUITY_ASSEMBLY_UNKNOWN",
    "reading.read_recap": "STORE_NOT_FOUND",
    "recaps.edit": "STORE_NOT_FOUND",
    "recaps.remove": "STORE_NOT_FOUND",
    "runs.accept": "STORE_NOT_FOUND",
    "runs.find": "STORE_NOT_FOUND",
    "runs.find_recorded": "STORE_NOT_FOUND",
    "runs.read_prompt": "STORE_NOT_FOUND",
    "runs.reject": "STORE_NOT_FOUND",
    "settings.remove_provider_key": "LLM_NO_KEY",
    "workspace.inspect_save": "SAVE_DAMAGED",
    "workspace.load_save": "SAVE_DAMAGED",
    "workspace.leave_series_of_project": "PROJECT_INVALID",
    "workspace.order_books": "PROJECT_INVALID",
    "workspace.redo": "STORE_NOT_FOUND",
    "workspace.redo_of_project": "STORE_NOT_FOUND",
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = lay(tmp_path_factory.mktemp("examples") / "data")
    with Workspace.open(folder) as workspace:
        prepare(workspace)
    return folder


@contextmanager
def open_client(prepared: Path, folder: Path) -> Iterator[httpx2.Client]:
    shutil.copytree(prepared, folder)
    with Workspace.open(folder) as workspace, run_server(workspace) as running, running.client() as client:
        yield client


@pytest.fixture(scope="module")
def shared(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    """For routes that change nothing."""
    with open_client(prepared, tmp_path_factory.mktemp("shared") / "data") as client:
        yield client


@pytest.fixture
def client(prepared: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[httpx2.Client]:
    route: Route = request.getfixturevalue("route")
    if route.method == "GET":
        yield request.getfixturevalue("shared")
        return
    with open_client(prepared, tmp_path / "data") as own:
        yield own


_READ = {one.path for one in ROUTES if one.has_version}
EDITS = [one for one in ROUTES if one.method in ("PUT", "PATCH") and one.path in _READ and one.name not in REFUSED]


@pytest.mark.parametrize("route", EDITS, ids=lambda one: f"{one.method}-{one.name}")
def test_the_version_that_a_change_returns_is_that_of_its_address(route: Route, client: httpx2.Client) -> None:
    url = make_url(route)
    example = {name: value for name, value in route.example.items() if name != "expectedVersion"}
    route = msgspec.structs.replace(route, example=example)
    changed = send(client, route, headers={"If-Match": client.get(url).headers["etag"]})
    assert changed.is_success, changed.text
    assert client.get(url).headers["etag"] == changed.headers["etag"]
    again = send(client, route, headers={"If-Match": changed.headers["etag"]})
    assert again.is_success, again.text
    assert client.get(url).headers["etag"] == again.headers["etag"]


@pytest.mark.parametrize(
    "route",
    [one for one in ROUTES if one.method in ("PUT", "PATCH") and one.path not in _READ],
    ids=lambda one: f"{one.method}-{one.name}",
)
def test_a_change_at_an_address_without_a_version_returns_none(route: Route, client: httpx2.Client) -> None:
    assert "etag" not in send(client, route).headers


@pytest.mark.parametrize("route", ROUTES, ids=lambda one: f"{one.method}-{one.name}")
def test_the_example_of_a_route_works(route: Route, client: httpx2.Client) -> None:
    answer = send(client, route)
    expected = REFUSED.get(route.name)
    if expected is not None:
        assert answer.status_code >= 400
        assert answer.json()["code"] == expected
        return
    assert answer.status_code == route.status, answer.text
    if route.stream:
        assert answer.text.rstrip().endswith("event: done\ndata: {}")
    elif route.file == "download":
        assert answer.content
    check_answer(route, answer)


NEEDED = {  # by route: those whose effects its example needs
    "chat.take_back": ("chat.send",),
    "codex.list_removed": ("codex.remove",),
    "codex.preview_share": ("workspace.join_series_of_project",),
    "codex.share": ("workspace.join_series_of_project",),
    "codex.undo_rename": ("codex.rename",),
    "conversations.undo_delete": ("conversations.delete",),
    "runs.accept": ("runs.propose",),
    "runs.find": ("runs.propose",),
    "runs.list_runs": ("runs.propose",),
    "runs.read_prompt": ("project.write",),
    "runs.reject": ("runs.propose",),
    "workspace.leave_series_of_project": ("workspace.join_series_of_project",),
    "workspace.list_books": ("workspace.join_series_of_project",),
    "workspace.order_books": ("workspace.join_series_of_project",),
    "workspace.redo": ("codex.edit", "workspace.undo"),
    "workspace.redo_of_project": ("codex.edit", "workspace.undo_of_project"),
}


def find_route(name: str) -> Route:
    return next(one for one in ROUTES if one.name == name)


@pytest.mark.parametrize("name", NEEDED)
def test_the_example_of_a_route_works_once_there_is_what_it_names(name: str, prepared: Path, tmp_path: Path) -> None:
    with open_client(prepared, tmp_path / "data") as client:
        for needed in NEEDED[name]:
            assert send(client, find_route(needed)).is_success, needed
        answer = send(client, find_route(name))
    assert answer.status_code == find_route(name).status, answer.text
    check_answer(find_route(name), answer)


@pytest.mark.parametrize("name", ["workspace.inspect_save", "workspace.load_save"])
def test_a_save_that_was_downloaded_is_taken(name: str, prepared: Path, tmp_path: Path) -> None:
    route = find_route(name)
    with open_client(prepared, tmp_path / "data") as client:
        save = send(client, find_route("project.save")).content
        example = {name: "true" if value is True else value for name, value in route.example.items()}
        answer = client.post(make_url(route), params={**example, "fileName": "book.fabula"}, content=save)
    assert answer.status_code == route.status, answer.text
    check_answer(route, answer)


@pytest.mark.parametrize("name", ["reading.read_recap", "recaps.edit", "recaps.list_recaps", "recaps.remove"])
def test_a_recap_is_read_changed_and_removed(name: str, prepared: Path, tmp_path: Path) -> None:
    with Workspace.open(shutil.copytree(prepared, tmp_path / "prepared")) as workspace:
        project = workspace.project("The Lantern Coast")
        ident = project.conversations.list_all()[0].record.id
        made = {"made": "2026-01-01T00:00:00.000000Z", "text": "They met on the quay."}
        with workspace.store.write(project=project.id) as tx:
            tx.insert(recaps, {"id": "r1", "conversation_id": ident, "rounds": [1], "heard": [1], **made})
    with open_client(tmp_path / "prepared", tmp_path / "data") as client:
        answer = send(client, find_route(name))
    assert answer.status_code == find_route(name).status, answer.text
    check_answer(find_route(name), answer)


def test_other_addresses_answer_as_their_examples_say(
    prepared: Path, tmp_path: Path, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = EmbeddedTexts("tiny", [[0.25, -1.5]])
    monkeypatch.setattr(ProjectHandle, "embed", lambda *_: vectors)
    with Workspace.open(shutil.copytree(prepared, tmp_path / "prepared")) as workspace:
        workspace.settings().set("llm.provider", "lab", scope="person")
    model.script = openai_answer("Mara keeps it.", usage={"prompt_tokens": 300, "completion_tokens": 5})
    with open_client(tmp_path / "prepared", tmp_path / "data") as client:
        for name, path in (("health.live", "/healthz"), ("health.ready", "/readyz")):
            check_untyped(name, client.get(path).json())
        paths = make_document(ROUTES)["paths"]
        for name, path in (("openai.complete", "/v1/chat/completions"), ("openai.embed", "/v1/embeddings")):
            body = paths[path]["post"]["requestBody"]["content"]["application/json"]["example"]
            answer = client.post(path, json=body)
            assert answer.is_success, answer.text
            check_untyped(name, answer.json())
            if name == "openai.complete":
                streamed = client.post(path, json={**body, "stream": True}).text
                check_untyped(f"{name}.event", read_events(streamed)[0])
        check_untyped("openai.list_models", client.get("/v1/models").json())
        check_untyped("openai.find_model", client.get("/v1/models/fabula/The Lantern Coast").json())
        refused = client.post("/v1/embeddings", json={"model": "fabula/Nowhere", "input": "x"})
        check_untyped(OPENAI_REFUSAL, refused.json())
        sent = read_events(send(client, find_route("chat.send")).text)
        check_untyped("streams.follow.event", sent[0])
        project = "/api/projects/The Lantern Coast"
        with client.stream("GET", f"{project}/events") as events:
            lines = events.iter_lines()
            while next(lines) != "":
                pass  # until it is ready
            assert client.post(f"{project}/constraints", json={"text": "Nobody sings."}).status_code == 201
            text = "\n".join(takewhile(bool, lines))
        check_event("ProjectEvent", read_events(text)[0], ProjectEvent)


def test_refusals_are_as_their_examples_say(prepared: Path, tmp_path: Path) -> None:
    shutil.copytree(prepared, tmp_path / "data")
    with Workspace.open(tmp_path / "data") as workspace, run_server(workspace) as running:
        reader = workspace.people.create_key("reading", person="ann").secret
        project = "/api/projects/The Lantern Coast"
        with running.client() as owner, running.client(reader) as ann, running.client(None) as nobody:
            stale = {"If-Match": '"0-0"'}
            refused = [
                nobody.get("/api/projects"),
                ann.post(f"{project}/constraints", json={"text": "Nobody sings."}),
                owner.get("/api/projects/Nowhere"),
                owner.get(f"{project}/codex/Nobody"),
                owner.post(f"{project}/constraints", json={"text": 1, "priority": "high"}),
                owner.post(f"{project}/constraints", content=b"text", headers={"Content-Type": "text/plain"}),
                owner.patch(f"{project}/codex/Mara", json={"description": "x"}, headers=stale),
                owner.post(f"{project}/chats/On the quay/mode", json={}),
            ]
            with running.client("unknown") as stranger:
                tries = (stranger.get("/api/projects") for _ in range(1_000))
                refused.append(next(one for one in tries if one.status_code == 429))
    problems = [answer.json() for answer in refused]
    for problem in problems:
        check_refusal(problem)
    assert {problem["code"] for problem in problems} == set(list_refusals(load_answer_examples()))


def list_examples(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The operation, the media type and the description of every answer of the description that has a body."""
    for operations in document["paths"].values():
        for operation in operations.values():
            for response in operation["responses"].values():
                for media_type, described in response.get("content", {}).items():
                    yield operation["operationId"], media_type, described


def test_every_answer_of_the_description_has_an_example_that_fits_its_schema() -> None:
    document = make_document(ROUTES)
    components = document["components"]
    used = set()
    answers = [*list_examples(document)]
    problem = components["responses"]["Problem"]["content"]["application/problem+json"]
    for operation, media_type, described in [*answers, ("", "application/problem+json", problem)]:
        if media_type == BINARY:
            continue
        assert described.get("examples"), (operation, media_type)
        schema = {**described["schema"], "components": components}
        validator = jsonschema.Draft202012Validator(schema)
        for name in described["examples"]:
            used.add(name)
            validator.validate(components["examples"][name]["value"])
    assert used == components["examples"].keys()


def test_no_example_holds_a_path_of_this_machine_or_the_secret_of_a_key() -> None:
    text = EXAMPLES_FILE.read_text("utf-8")
    for word in (tempfile.gettempdir(), str(Path.home()), str(Path.cwd()), socket.gethostname()):
        assert word not in text
    assert set(re.findall(r'"secret": "([^"]*)"', text)) == {"fabula-…"}
