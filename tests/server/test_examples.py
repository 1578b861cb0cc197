"""Every example of the description works: it is sent to a real server, and the answer is of the type that is described."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import msgspec
import pytest

from fabula.server.openapi import PATH_EXAMPLES
from fabula.server.routes import ROUTES, Route
from fabula.workspace.read_only import open_read_only
from fabula.workspace.workspace import Workspace
from tests.blank import lay
from tests.server.running import run_server

# What an example needs that no story has by itself: a run, a finished assembly, a recap.
REFUSED: dict[tuple[str, str], str] = {}


def prepare(workspace: Workspace) -> None:
    """A story that has one of everything that the examples name."""
    project = workspace.copy_project(open_read_only("sample:lantern_coast").view)
    project.participants.add("Bo", persona="A pilot.")
    conversation = project.conversations.start(["Bo"], title="On the quay")
    project.conversations.record(conversation.id, "Is the lamp lit?", speaker="Bo")
    project.participant_texts.add("prompt", "Bo", "Never lies.")
    project.lorebooks.create("Ships")
    project.lorebooks.add_entry("Ships", {"key": ["brig"], "content": "A brig has two masts."})
    project.presets.write("calm", {"nodes": []})
    project.memory.remember("Short sentences.")
    project.outline.add("1", "Mara lights the lamp.")
    project.codex.add_progression("Mara", "Knows the page.", since="2")
    project.codex.relate("Mara", "Will", kind="old friend")
    workspace.create_series("The Coast")
    workspace.create_project("The Old Draft")
    workspace.delete_project("The Old Draft")


def make_url(route: Route) -> str:
    path = f"/api{route.path}"
    for name in route.parameters:
        path = path.replace(f"{{{name}}}", quote(PATH_EXAMPLES[name], safe=""))
    return path


def send(client: httpx2.Client, route: Route) -> httpx2.Response:
    sent: dict[str, Any] = {"params": route.example} if route.method == "GET" else {"json": route.example}
    return client.request(route.method, make_url(route), **sent)


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


@pytest.mark.parametrize("route", ROUTES, ids=lambda one: f"{one.method}-{one.name}")
def test_the_example_of_a_route_works(route: Route, client: httpx2.Client) -> None:
    answer = send(client, route)
    expected = REFUSED.get((route.method, route.name))
    if expected is not None:
        assert answer.status_code >= 400
        assert answer.json()["code"] == expected
        return
    assert answer.status_code == route.status, answer.text
    if route.answer.kind is not None:
        msgspec.json.decode(answer.content, type=route.answer.kind)
