"""Programs speak the Model Context Protocol with the server over HTTP, each within its caller's rights."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client
from mcp.server.subscriptions import ResourceUpdated

from fabula.access.model import Membership, Right, Role
from fabula.context.request import Grants
from fabula.mcp import sdk
from fabula.mcp.resources import make_uri
from fabula.server.access import Access
from fabula.server.accounts import Accounts
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from mcp import Client, MCPError
from tests.mcp.conftest import run_async
from tests.server.running import OWNER_TOKEN, RunningServer, StoppableServer, run_process_server, run_server
from tests.server.test_events import PLAYER

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPT = {"accept": "application/json, text/event-stream"}
CHANGING = {"add_entry", "edit_entry", "add_progression", "set_knowledge", "remember", "propose_edit"}


def talk(
    server: RunningServer | StoppableServer,
    speak: Callable[[Client], Awaitable[Any]],
    token: str = OWNER_TOKEN,
    *,
    mode: str = "auto",
) -> Any:
    """Let the SDK's own client talk with a server over HTTP."""

    async def connect() -> Any:
        async with open_program(server, token, mode=mode) as client:
            return await speak(client)

    return run_async(connect)


@asynccontextmanager
async def open_program(
    server: RunningServer | StoppableServer, token: str, *, mode: str = "auto"
) -> AsyncIterator[Client]:
    """The SDK's own client, connected with a server over HTTP."""
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, trust_env=False) as http:
        transport = streamable_http_client(f"{server.base_url}/mcp", http_client=http)
        async with Client(transport, mode=mode, cache=None) as client:
            yield client


@pytest.fixture
def people(story: ProjectHandle) -> dict[str, Access]:
    return {
        role.value: Access(
            user=role.value,
            memberships={story.id: Membership(role, PLAYER if role is Role.PLAYER else Grants())},
        )
        for role in Role
    }


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_sdks_client_reads_and_changes_a_story_over_http(
    workspace: Workspace, story: ProjectHandle, server: RunningServer, mode: str
) -> None:
    async def speak(client: Client) -> Any:
        listed = await client.call_tool("list_projects")
        found = await client.call_tool("search_story", {"project": story.id, "words": "lamp"})
        added = await client.call_tool("add_entry", {"project": story.id, "name": "Oar"})
        names = [one.uri for one in (await client.list_resources()).resources]
        return listed, found, added, names

    listed, found, added, names = talk(server, speak, mode=mode)
    assert [one["id"] for one in listed.structured_content["projects"]] == [story.id]
    assert found.structured_content["passages"]
    assert story.codex.find("Oar").id == added.structured_content["id"]
    assert make_uri(story.id, "chapter", "ch-01") in names


def test_a_key_that_names_verbs_has_the_tools_and_resources_that_count_as_these(
    workspace: Workspace, story: ProjectHandle, people: dict[str, Access]
) -> None:
    verbs = frozenset({"project.search", "reading.read_chapter", "codex.add", "project.explain"})
    keys = {
        name: people[name].limit(rights=None, projects=None, verbs=verbs) for name in ("editor", "reader", "debugger")
    }
    entry, chapter = make_uri(story.id, "entry", "mara"), make_uri(story.id, "chapter", "ch-01")

    async def speak(client: Client) -> Any:
        tools = {one.name for one in (await client.list_tools()).tools}
        kinds = {str(one.uri).split("/")[4] for one in (await client.list_resources()).resources}
        opened = []
        for uri in (chapter, entry):
            try:
                opened.append(bool((await client.read_resource(uri)).contents))
            except MCPError:
                opened.append(False)
        found = await client.call_tool("search_story", {"project": story.id, "words": "lamp"})
        prompts = (await client.list_prompts()).prompts
        with pytest.raises(MCPError):
            await client.call_tool("assemble_context", {"project": story.id})
        return tools, kinds, opened, found.is_error, prompts

    with run_server(workspace, keys) as server:
        spoken = {name: talk(server, speak, name) for name in keys}
    common = {"list_projects", "search_story", "read_chapter"}
    for name, more in (("editor", {"add_entry"}), ("reader", set()), ("debugger", {"explain_context"})):
        assert spoken[name] == (common | more, {"chapter"}, [True, False], False, []), name


def test_each_role_has_the_tools_that_its_rights_allow_and_no_others(
    workspace: Workspace, story: ProjectHandle, people: dict[str, Access]
) -> None:
    people["key"] = people["editor"].limit(rights=frozenset({Right.ASSEMBLE}), projects=None)

    async def list_tools(client: Client) -> set[str]:
        return {one.name for one in (await client.list_tools()).tools}

    async def try_all(client: Client) -> dict[str, bool]:
        calls = {
            "add_entry": {"name": "Oar"},
            "remember": {"text": "Short sentences."},
            "propose_edit": {"chapter": "1", "text": "She rowed."},
            "check_continuity": {},
            "explain_context": {"name": "Mara"},
            "read_chapter": {"chapter": "ch-01"},
        }
        allowed = {}
        for tool, arguments in calls.items():
            try:
                allowed[tool] = not (await client.call_tool(tool, {"project": story.id, **arguments})).is_error
            except MCPError:
                allowed[tool] = False
        return allowed

    with run_server(workspace, people) as server:
        tools = {name: talk(server, list_tools, name) for name in people}
        version = workspace.store.versions(project=story.id)[0]
        tried = {name: talk(server, try_all, name) for name in ("reader", "player", "debugger", "key")}
        assert workspace.store.versions(project=story.id)[0] == version
        assert all(talk(server, try_all, "owner").values())
    assert {name for name, own in tools.items() if own >= CHANGING} == {"owner", "editor"}
    assert {name for name, own in tools.items() if CHANGING & own} == {"owner", "editor"}
    assert {name for name, own in tools.items() if "explain_context" in own} == {"owner", "debugger"}
    assert {name for name, own in tools.items() if "check_continuity" in own} == set(people) - {"player", "key"}
    for name, allowed in tried.items():
        assert {one for one, is_allowed in allowed.items() if is_allowed} == {
            "reader": {"check_continuity", "read_chapter"},
            "player": {"read_chapter"},
            "debugger": {"check_continuity", "explain_context", "read_chapter"},
            "key": {"read_chapter"},
        }[name], name


def test_who_may_use_no_tool_or_not_this_one_is_told_why(
    workspace: Workspace, story: ProjectHandle, people: dict[str, Access]
) -> None:
    people["stranger"] = Access(user="stranger")

    async def propose(client: Client) -> str:
        with pytest.raises(MCPError) as refused:
            await client.call_tool("propose_edit", {"project": story.id, "chapter": "1", "text": "She rowed."})
        return str(refused.value)

    with run_server(workspace, people) as server:
        assert "`edit`" in (reader := talk(server, propose, "reader"))
        assert "search_story" in reader
        assert "belong to no project" in talk(server, propose, "stranger")


def test_a_caller_has_its_own_projects_and_another_role_in_each(workspace: Workspace, story: ProjectHandle) -> None:
    foreign, second = workspace.create_project("Somebody else's"), workspace.create_project("Another")
    both = {story.id: Membership(Role.READER), second.id: Membership(Role.EDITOR)}

    async def speak(client: Client) -> Any:
        listed = await client.call_tool("list_projects")
        own = await client.call_tool("add_entry", {"project": "Another", "name": "Oar"})
        others = [
            await client.call_tool("add_entry", {"project": name, "name": "Oar"})
            for name in (story.id, foreign.id, "Somebody else's", "nowhere")
        ]
        addresses = [one.uri for one in (await client.list_resources()).resources]
        with pytest.raises(MCPError):
            await client.read_resource(make_uri(foreign.id, "chapter", "ch-01"))
        return {one["id"] for one in listed.structured_content["projects"]}, own, others, addresses

    foreign.codex.add("Secret")
    with run_server(workspace, {"both": Access(user="ann", memberships=both)}) as server:
        listed, own, others, addresses = talk(server, speak, "both")
    assert listed == {story.id, second.id}
    assert not own.is_error
    assert {one.structured_content["code"] for one in others} == {"CONTEXT_NOT_ALLOWED"}
    assert not [one for one in addresses if foreign.id in one]
    assert [one.name for one in foreign.codex.list_entries()] == ["Secret"]


def test_a_player_sees_through_its_character_over_mcp(
    workspace: Workspace, story: ProjectHandle, people: dict[str, Access]
) -> None:
    secret = story.codex.add("Debt", description="A quillwort debt.", known_to=["Will"])

    async def speak(client: Client) -> Any:
        chapters = await client.call_tool("list_chapters", {"project": story.id})
        entries = await client.call_tool("list_entries", {"project": story.id})
        hidden = await client.call_tool("read_entry", {"project": story.id, "entry": "Debt"})
        addresses = [one.uri for one in (await client.list_resources()).resources]
        return chapters.structured_content["items"], str(entries), hidden, addresses

    with run_server(workspace, people) as server:
        chapters, entries, hidden, addresses = talk(server, speak, "player")
    assert [one["id"] for one in chapters] == ["ch-01"]
    assert "Debt" not in entries
    assert hidden.is_error
    assert make_uri(story.id, "entry", secret.id) not in addresses
    assert make_uri(story.id, "chapter", "ch-02") not in addresses


def test_a_listener_is_told_of_what_it_may_read_alone(
    workspace: Workspace, story: ProjectHandle, people: dict[str, Access]
) -> None:
    foreign = workspace.create_project("Somebody else's")
    mara, other = make_uri(story.id, "entry", "mara"), make_uri(foreign.id, "entry", "x")

    async def speak(client: Client) -> Any:
        async with client.listen(resource_subscriptions=[mara, other]) as changes:
            foreign.codex.add("Oar")
            story.codex.edit("mara", description="A pilot with a scar.")
            with anyio.fail_after(30):
                return await anext(aiter(changes))

    with run_server(workspace, people) as server:
        assert talk(server, speak, "player") == ResourceUpdated(uri=mara)


async def expect(told: AsyncIterator[Any], uri: str) -> None:
    with anyio.fail_after(30):
        assert await anext(told) == ResourceUpdated(uri=uri)


def test_a_listener_is_told_nothing_once_its_access_has_ended(
    workspace: Workspace, story: ProjectHandle, server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabula.server.accounts.REMEMBERED_SECONDS", 0.0)
    mara, secret = make_uri(story.id, "entry", "mara"), story.codex.add("Debt", known_to=["Will Tarn"])
    hidden = make_uri(story.id, "entry", secret.id)
    workspace.people.add("ann")
    workspace.people.set_role("ann", story.id, "reader")
    key = workspace.people.create_key("program", person="ann")

    async def speak(ann: Client) -> list[Any]:
        async with (
            open_program(server, OWNER_TOKEN) as owner,
            ann.listen(resource_subscriptions=[mara, hidden]) as told_to_ann,
            owner.listen(resource_subscriptions=[mara, hidden]) as told_to_owner,
        ):
            told, all_told = aiter(told_to_ann), aiter(told_to_owner)
            story.codex.edit(secret.id, description="A debt.")
            await expect(told, hidden)
            await expect(all_told, hidden)
            workspace.people.set_role("ann", story.id, "player", character="mara")
            story.codex.edit(secret.id, description="A large debt.")
            await expect(told, mara)  # what it may read, since that is another part of the story
            await expect(all_told, hidden)
            story.codex.edit("mara", notes="She lies.")
            await expect(all_told, mara)
            story.codex.edit("mara", description="A pilot with a scar.")
            await expect(all_told, mara)
            await expect(told, mara)
            workspace.people.remove_role("ann", story.id)
            for text in ("An old pilot.", "A very old pilot."):
                story.codex.edit("mara", description=text)
                await expect(all_told, mara)
            workspace.people.revoke_key("program")  # which ends the stream, though nothing changes
            with anyio.fail_after(30):
                return [one async for one in told]

    assert talk(server, speak, key.secret) == []


def test_access_is_asked_for_beside_the_event_loop(
    workspace: Workspace, story: ProjectHandle, server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabula.server.accounts.REMEMBERED_SECONDS", 0.0)
    loops: list[Any] = []
    load = Accounts.load

    def note_loop(accounts: Accounts, secret: str) -> Access | None:
        loops.append(asyncio._get_running_loop())
        return load(accounts, secret)

    monkeypatch.setattr(Accounts, "load", note_loop)
    key, mara = workspace.people.create_key("program"), make_uri(story.id, "entry", "mara")

    async def speak(client: Client) -> None:
        async with client.listen(resources_list_changed=True, resource_subscriptions=[mara]) as changes:
            await client.list_resources()
            asked = len(loops)
            while len(loops) < asked + 2:  # the watcher looks around each second
                await anyio.sleep(0.05)
            story.codex.edit("mara", description="A pilot with a scar.")
            await expect(aiter(changes), mara)

    talk(server, speak, key.secret)
    assert set(loops) == {None}


def test_a_listener_is_told_that_the_server_stops(workspace: Workspace, story: ProjectHandle) -> None:
    with run_process_server(workspace) as server:

        async def speak(client: Client) -> list[Any]:
            async with client.listen(resources_list_changed=True) as changes:
                server.stop()
                with anyio.fail_after(30):
                    return [one async for one in changes]  # a stream that is cut raises `SubscriptionLost`

        assert talk(server, speak) == []


def test_nobody_without_a_token_and_no_page_of_another_site_reaches_it(server: RunningServer) -> None:
    with server.client(None) as nobody, server.client() as owner:
        refused = nobody.post("/mcp", json=PING, headers=ACCEPT)
        assert (refused.status_code, refused.json()["code"]) == (401, "ACCESS_REQUIRED")
        foreign = owner.post("/mcp", json=PING, headers={**ACCEPT, "origin": "https://evil.example"})
        assert (foreign.status_code, foreign.json()["code"]) == (403, "ACCESS_ORIGIN_REFUSED")
        assert owner.get("/mcp", headers=ACCEPT).json()["code"] == "HTTP_METHOD_UNKNOWN"
        plain = owner.post("/mcp", content=b"no json", headers=ACCEPT)
        assert (plain.status_code, plain.json()["code"]) == (415, "HTTP_CONTENT_TYPE")
        for accept in ("text/html", "application/json;q=0"):
            other = owner.post("/mcp", json=PING, headers={"accept": accept})
            assert (other.status_code, other.json()["code"]) == (406, "HTTP_NOT_ACCEPTABLE")
            assert other.headers["content-type"] == "application/problem+json"
        json = {**ACCEPT, "content-type": "application/json"}
        assert owner.post("/mcp", content=b"no json", headers=json).json()["error"]["code"] == -32700
        for content in (b"x" * 5_000_000, (b"x" * 1_000_000 for _ in range(5))):  # also where no length is announced
            large = owner.post("/mcp", content=content, headers=json)
            assert (large.status_code, large.json()["code"]) == (413, "HTTP_BODY_TOO_LARGE")


def test_where_the_package_is_missing_the_answer_says_how_to_install_it(
    workspace: Workspace, story: ProjectHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sdk, "find_spec", lambda _: None)
    with run_server(workspace) as server, server.client() as client:
        answer = client.post("/mcp", json=PING, headers=ACCEPT)
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["code"] == "MCP_NOT_INSTALLED"
        assert "fabula[mcp]" in answer.json()["detail"]
        assert client.get("/api/projects").status_code == 200
