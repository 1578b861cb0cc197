"""Every example of the description works: a real server answers it with the type that is described."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import msgspec
import pytest

from fabula.server.routes import ROUTES, Route
from fabula.workspace.workspace import Workspace
from tests.blank import lay
from tests.server.requests import make_url, send
from tests.server.running import run_server
from tests.server.stories import prepare

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
    elif route.answer.kind is not None:
        msgspec.json.decode(answer.content, type=route.answer.kind)
