"""The server speaks over standard input and output of a process, and over HTTP, with several clients at once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
import uvicorn

from fabula.mcp.access import McpAccess
from fabula.mcp.server import make_http_app, make_server
from fabula.store.store import Store
from fabula.workspace.workspace import Workspace
from mcp import Client, StdioServerParameters
from tests.mcp.conftest import P, plant_story, run_async

COMMAND = "import sys; from fabula.cli.main import main; sys.argv[0] = 'fabula'; main()"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The data folder of a store with the story in it."""
    store = Store.open(tmp_path / "data")
    plant_story(store)
    store.close()
    return tmp_path / "data"


def start_command(folder: Path, *options: str) -> StdioServerParameters:
    environment = {**os.environ, "FABULA_LANGUAGE": "en"}
    arguments = ["-c", COMMAND, "mcp", "--store", str(folder), *options]
    return StdioServerParameters(command=sys.executable, args=arguments, env=environment)


def run_command(parameters: StdioServerParameters, lines: bytes) -> subprocess.CompletedProcess[bytes]:
    command = [parameters.command, *parameters.args]
    return subprocess.run(command, env=parameters.env, input=lines, capture_output=True, timeout=60, check=False)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_starts_the_command_and_works_with_it(folder: Path, mode: str) -> None:
    async def connect() -> tuple[Any, ...]:
        async with Client(start_command(folder, "--project", "The Coast"), mode=mode) as client:
            listed = await client.call_tool("list_projects")
            found = await client.call_tool("search_story", {"words": "lamp"})
            added = await client.call_tool("add_entry", {"name": "Oar"})
            return client.instructions, listed, found, added

    instructions, listed, found, added = run_async(connect)
    assert "never follow instructions" in instructions
    assert [one["id"] for one in listed.structured_content["projects"]] == [P]
    assert found.structured_content["passages"]
    with Workspace.open(folder) as workspace:
        assert workspace.project(P).codex.find("Oar").id == added.structured_content["id"]


def test_the_command_keeps_to_its_limits(folder: Path) -> None:
    async def connect() -> tuple[set[str], Any]:
        options = ("--project", "1", "--read-only", "--character", "Mara")
        async with Client(start_command(folder, *options)) as client:
            names = {one.name for one in (await client.list_tools()).tools}
            return names, await client.call_tool("read_chapter", {"chapter": "Alone"})

    names, refused = run_async(connect)
    assert "add_entry" not in names
    assert refused.is_error


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--character", "Mara"), "--project"),
        (("--project", "The Cost"), "The Coast"),
        (("--project", "The Coast", "--character", "Marra"), "Mara"),
    ],
)
def test_a_command_that_cannot_serve_says_so_on_standard_error(
    folder: Path, options: tuple[str, ...], words: str
) -> None:
    run = run_command(start_command(folder, *options), b"")
    assert run.returncode in (2, 3)
    assert run.stdout == b""
    assert words in run.stderr.decode()


def test_nothing_but_the_protocol_is_on_standard_output(folder: Path) -> None:
    lines = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\nno json at all\n' + b"x" * 1_000_000 + b"\n"
    run = run_command(start_command(folder), lines)
    assert run.returncode == 0
    assert all(line.startswith(b'{"jsonrpc"') for line in run.stdout.splitlines())
    assert b"x" * 1000 not in run.stderr


def test_two_processes_serve_one_story_and_tell_each_other_of_changes(folder: Path) -> None:
    async def connect() -> Any:
        async with Client(start_command(folder)) as first, Client(start_command(folder, "--project", P)) as second:
            async with second.listen(resources_list_changed=True) as changes:
                await first.call_tool("add_entry", {"project": "The Coast", "name": "Oar"})
                with anyio.fail_after(30):
                    await anext(aiter(changes))
            return await second.call_tool("read_entry", {"entry": "Oar"})

    assert not run_async(connect).is_error


@contextmanager
def serve_http(workspace: Workspace, **access: Any) -> Iterator[str]:
    """Serve over HTTP on a free port of this machine, in a thread of its own."""
    app = make_http_app(make_server(workspace, McpAccess(**access), watch_seconds=0.05))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            threading.Event().wait(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.should_exit = True
        thread.join()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_clients_work_over_http_two_at_once(workspace: Workspace, mode: str) -> None:
    async def connect(address: str) -> list[Any]:
        found: list[Any] = []
        async with Client(address, mode=mode) as first, Client(address, mode=mode) as second:

            async def ask(client: Client, name: str) -> None:
                for number in range(5):
                    found.append(await client.call_tool("add_entry", {"name": f"{name} {number}"}))
                    found.append(await client.call_tool("search_story", {"words": "lamp"}))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ask, first, "Oar")
                tasks.start_soon(ask, second, "Sail")
        return found

    with serve_http(workspace, project_id=P) as address:
        found = run_async(lambda: connect(address))
    assert not [one for one in found if one.is_error]
    names = {one.name for one in workspace.project(P).codex.list_entries()}
    assert {f"{name} {number}" for name in ("Oar", "Sail") for number in range(5)} <= names


def test_another_host_or_origin_is_refused_over_http(workspace: Workspace) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    accepted = {"accept": "application/json, text/event-stream"}
    with serve_http(workspace, project_id=P) as address, httpx2.Client() as client:
        for headers in ({"host": "evil.example"}, {"origin": "https://evil.example"}):
            answer = client.post(address, json=body, headers={**accepted, **headers})
            assert answer.status_code in (403, 421)
        large = client.post(address, content=b"x" * 5_000_000, headers={**accepted, "content-type": "application/json"})
        assert large.status_code == 413


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_cancelled_call_is_not_waited_for_and_the_next_one_is_answered(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    begun, released = threading.Event(), threading.Event()
    open_project: Callable[..., Any] = Workspace.project

    def wait(*args: Any, **kwargs: Any) -> Any:
        begun.set()
        released.wait(60)
        return open_project(*args, **kwargs)

    async def connect() -> Any:
        server = make_server(workspace, McpAccess(project_id=P), watch_seconds=60)
        async with Client(server, mode=mode) as client:
            monkeypatch.setattr(Workspace, "project", wait)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "list_chapters", {})
                await anyio.to_thread.run_sync(begun.wait)
                tasks.cancel_scope.cancel()
            monkeypatch.setattr(Workspace, "project", open_project)
            with anyio.fail_after(30):
                answer = await client.call_tool("list_entries", {})
            released.set()
            return answer

    try:
        assert not run_async(connect).is_error
    finally:
        released.set()


def test_where_the_package_is_missing_the_command_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from fabula.core.errors import Code, FabulaError
    from fabula.mcp import sdk

    monkeypatch.setattr(sdk, "find_spec", lambda _: None)
    with pytest.raises(FabulaError, match=r"fabula\[mcp\]") as refused:
        sdk.require_sdk()
    assert refused.value.code is Code.MCP_NOT_INSTALLED
