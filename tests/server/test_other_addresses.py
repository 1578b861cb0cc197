"""Addresses outside of the table of routes: who may use each, and that nothing of another project is there.

The list of addresses is that of the application. One without a rule here fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import httpx2
import msgspec
import pytest
from litestar import Litestar

from fabula.access.model import RIGHTS, Right, Role
from fabula.mcp.resources import TEMPLATES, make_uri
from fabula.mcp.tool_arguments import PROJECT
from fabula.mcp.tools import TOOLS
from fabula.server.accounts import Accounts
from fabula.server.app import make_app
from fabula.server.head_requests import HeadRequests
from fabula.server.programs import MCP_PATH
from fabula.server.routes import ROUTES
from fabula.server.security import SecurityMiddleware
from fabula.workspace.workspace import Workspace
from tests.server.stories import SECRET
from tests.server.test_foreign_objects import ForeignObjects, make_absent, objects
from tests.server.test_matrix import REFUSALS, ROLES, Matrix, matrix

__all__ = ["matrix", "objects"]

Ask = Callable[[httpx2.Client, str], httpx2.Response]  # with the id or title of a project
PROJECT_PATH = "/api/projects/{project:str}"
STREAM_PATH = f"{PROJECT_PATH}/streams/{{stream:str}}"


def follow_events(client: httpx2.Client, project: str) -> httpx2.Response:
    with client.stream("GET", f"/api/projects/{project}/events") as answer:
        if answer.is_error:
            answer.read()
        return answer


def ask_model(client: httpx2.Client, project: str) -> httpx2.Response:
    said = [{"role": "user", "content": "Who keeps the lantern?"}]
    return client.post("/v1/chat/completions", json={"model": f"fabula/{project}", "messages": said})


OPEN: set[tuple[str, str]] = {
    ("GET", "/"),
    ("GET", "/assets/{name:str}"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/open/{code:str}"),
    ("POST", "/api/session"),
}
FOR_CALLERS: set[tuple[str, str]] = {
    ("GET", "/api"),
    ("GET", "/api/openapi.json"),
    ("GET", "/api/style.css"),
    ("GET", "/v1/models"),  # those of the caller
    ("DELETE", "/api/session"),
}
FOR_THE_STORE: set[tuple[str, str]] = {("GET", "/metrics")}
OF_A_PROJECT: dict[tuple[str, str], tuple[Right, Ask]] = {
    ("GET", f"{PROJECT_PATH}/events"): (Right.ASSEMBLE, follow_events),
    ("GET", STREAM_PATH): (Right.SIGN_IN, lambda client, one: client.get(f"/api/projects/{one}/streams/none")),
    ("DELETE", STREAM_PATH): (Right.SIGN_IN, lambda client, one: client.delete(f"/api/projects/{one}/streams/none")),
    ("POST", "/v1/chat/completions"): (Right.GENERATE, ask_model),
    ("POST", "/v1/embeddings"): (
        Right.GENERATE,
        lambda client, one: client.post("/v1/embeddings", json={"model": f"fabula/{one}", "input": "lamp"}),
    ),
    ("GET", "/v1/models/{name:path}"): (
        Right.GENERATE,
        lambda client, one: client.get(f"/v1/models/fabula/{one}"),
    ),
}


def select_names(objects: ForeignObjects) -> dict[str, str]:
    """Ids and names of what these addresses can name: chapters, entries, facts, conversations and participants."""
    kinds = ("documents", "codex_entries", "conversations", "participants", "fact", "entry name", "chapter title")
    return {kind: objects.names[kind] for kind in kinds}


def read_code(answer: httpx2.Response) -> str:
    """The code of a refusal, also in OpenAI's form."""
    if not answer.is_error:
        return ""
    body = answer.json()
    return str(body["error"]["code"] if "error" in body else body["code"])


def test_every_address_outside_of_the_table_has_a_rule(workspace: Workspace) -> None:
    app = make_app(workspace, Accounts(workspace.store, {}))
    assert isinstance(app, SecurityMiddleware)
    assert isinstance(app.app, HeadRequests)
    assert isinstance(app.app.app, Litestar)
    listed = {(one.method, f"/api{one.path}".replace("}", ":str}")) for one in ROUTES}
    routes = app.app.app.routes
    served = {(method, one.path) for one in routes for method in getattr(one, "methods", ()) if method != "OPTIONS"}
    assert served - listed == OPEN | FOR_CALLERS | FOR_THE_STORE | set(OF_A_PROJECT)
    assert {one.path for one in routes if not getattr(one, "methods", ())} == {MCP_PATH}


def fill(path: str) -> str:
    return re.sub(r"{\w+:\w+}", "none", path)


def test_addresses_that_are_no_projects_are_for_everybody_for_callers_or_for_the_owner(matrix: Matrix) -> None:
    for method, path in sorted(OPEN):
        body: dict[str, Any] = {"json": {}} if method == "POST" else {}
        answers = [one.request(method, fill(path), **body) for one in (matrix.nobody, *matrix.clients.values())]
        assert len({(one.status_code, read_code(one)) for one in answers}) == 1, path
        assert read_code(answers[0]) != "CONTEXT_NOT_ALLOWED"
    for method, path in sorted(FOR_CALLERS | FOR_THE_STORE):
        refused = matrix.nobody.request(method, fill(path))
        assert (refused.status_code, read_code(refused)) == (401, "ACCESS_REQUIRED"), path
        for role, client in matrix.clients.items():
            expected = "CONTEXT_NOT_ALLOWED" if (method, path) in FOR_THE_STORE else ""
            assert read_code(client.request(method, fill(path))) == expected, (path, role)


@pytest.mark.parametrize("address", OF_A_PROJECT, ids=" ".join)
def test_an_address_of_a_project_is_open_to_the_roles_that_have_its_right(
    address: tuple[str, str], matrix: Matrix
) -> None:
    right, ask = OF_A_PROJECT[address]
    assert read_code(ask(matrix.nobody, matrix.own)) == "ACCESS_REQUIRED"
    for role in ROLES:
        client, version = matrix.clients[role], matrix.version(matrix.foreign)
        foreign, absent = ask(client, matrix.foreign), ask(client, make_absent(matrix.foreign))
        assert (foreign.status_code, read_code(foreign)) == (404, "PROJECT_NOT_FOUND"), role
        assert foreign.content == absent.content
        answer = ask(client, matrix.own)
        if right in RIGHTS[role]:
            assert read_code(answer) not in REFUSALS, (role, answer.text)
        else:
            assert (answer.status_code, read_code(answer)) == (403, "CONTEXT_NOT_ALLOWED"), role
        assert matrix.version(matrix.foreign) == version


def test_streams_of_another_project_or_person_are_not_there(objects: ForeignObjects) -> None:
    stream = objects.names["stream_events"]
    for client in objects.clients.values():
        for method in ("GET", "DELETE"):
            answers = [
                client.request(method, f"/api/projects/{objects.own}/streams/{one}")
                for one in (stream, make_absent(stream))
            ]
            assert [read_code(one) for one in answers] == ["STORE_NOT_FOUND"] * 2
            assert answers[0].content == answers[1].content
    own = objects.clients["both"].get(f"/api/projects/{objects.foreign}/streams/{stream}")
    assert SECRET in own.text  # where it belongs


def test_characters_and_options_of_another_project_are_not_there_for_clients_of_openai(
    objects: ForeignObjects,
) -> None:
    for kind, value in select_names(objects).items():
        absent, client = make_absent(value), objects.clients["both"]
        for fill_in in (
            lambda one: {"model": f"fabula/{objects.own}/{one}"},
            lambda one: {"model": f"fabula/{objects.own}", "metadata": {"fabula_character": one}},
            lambda one: {"model": f"fabula/{objects.own}", "metadata": {"fabula_document": one}},
            lambda one: {"model": f"fabula/{objects.own}", "metadata": {"fabula_conversation": one}},
        ):
            answers = [
                client.post(
                    "/v1/chat/completions", json={**fill_in(one), "messages": [{"role": "user", "content": "Hm?"}]}
                )
                for one in (value, absent)
            ]
            assert SECRET not in answers[0].text
            assert answers[0].status_code == answers[1].status_code, kind
            assert read_code(answers[0]) == read_code(answers[1]), kind


def call_mcp(client: httpx2.Client, method: str, **params: Any) -> Mapping[str, Any]:
    """Send one request of the protocol, and return its answer."""
    sent = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}
    answer = client.post(MCP_PATH, json=sent, headers=headers)
    lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
    found: Mapping[str, Any] = msgspec.json.decode(lines[-1] if lines else answer.text)
    return found


def read_refusal(answer: Mapping[str, Any]) -> str:
    """What an answer of a tool refuses, without what was asked for; empty for a success."""
    if "error" in answer:
        return str(answer["error"]["message"])
    result = answer["result"]
    return str(result["structuredContent"]) if result.get("isError") else ""


ARGUMENTS: Mapping[str, Any] = {  # of tools, by name; a new one must get an example here
    "additional_input": "On.",
    "chapter": "1",
    "document_id": "1",
    "entry": "Mara",
    "fact": "1",
    "knower": "Will",
    "name": "Odile",
    "since": "2",
    "text": "She lit the lamp.",
    "use": "progression",
    "words": "lamp",
}


def list_required(tool: Mapping[str, Any]) -> dict[str, Any]:
    return {name: ARGUMENTS[name] for name in tool["inputSchema"].get("required", ()) if name != PROJECT}


def test_tools_are_for_the_roles_that_have_their_right_in_their_own_project(matrix: Matrix) -> None:
    described = {one["name"]: one for one in call_mcp(matrix.clients[Role.OWNER], "tools/list")["result"]["tools"]}
    assert set(described) == set(TOOLS)
    for name, tool in TOOLS.items():
        given = list_required(described[name])
        for role, client in matrix.clients.items():
            version = matrix.version(matrix.foreign)
            own = read_refusal(call_mcp(client, "tools/call", name=name, arguments={PROJECT: matrix.own, **given}))
            may = tool.right in RIGHTS[role] and (tool.is_for_limited or role is not Role.PLAYER)
            assert (f"no tool '{name}'" in own) is not may, (name, role, own)
            assert (f"`{tool.right.value}`" in own) is not may, (name, role, own)
            if not may or not tool.needs_project:
                continue
            foreign, absent = (
                read_refusal(call_mcp(client, "tools/call", name=name, arguments={PROJECT: one, **given}))
                for one in (matrix.foreign, make_absent(matrix.foreign))
            )
            assert foreign == absent != "", (name, role)
            assert matrix.version(matrix.foreign) == version


def names_an_object(argument: str) -> bool:
    return argument in ("entry", "fact", "knower", "chapter", "document_id", "conversation", "conversation_id")


def test_no_tool_and_no_resource_has_an_object_of_another_project(objects: ForeignObjects) -> None:
    version = objects.version()
    client = objects.clients["both"]
    described = {one["name"]: one for one in call_mcp(client, "tools/list")["result"]["tools"]}
    for name, tool in described.items():
        required = list_required(tool)
        for place in filter(names_an_object, tool["inputSchema"]["properties"]):
            for kind, value in select_names(objects).items():
                refusals = [
                    read_refusal(
                        call_mcp(
                            client, "tools/call", name=name, arguments={PROJECT: objects.own, **required, place: one}
                        )
                    ).replace(one, "NAME")
                    for one in (value, make_absent(value))
                ]
                hidden = [re.sub("[0-9a-f]{12,}", "ID", one) for one in refusals]
                assert hidden[0] == hidden[1] != "", (name, place, kind)
    for kind in TEMPLATES:
        for value in select_names(objects).values():
            answers = [
                call_mcp(client, "resources/read", uri=make_uri(objects.own, kind, one))
                for one in (value, make_absent(value))
            ]
            assert SECRET not in str(answers[0])
            assert answers[0]["error"]["code"] == answers[1]["error"]["code"], (kind, value)
    for role in ("inside", "player"):
        for kind in TEMPLATES:
            for value in (objects.names["documents"], objects.names["codex_entries"], objects.names["conversations"]):
                answer = call_mcp(objects.clients[role], "resources/read", uri=make_uri(objects.foreign, kind, value))
                assert "error" in answer
    assert objects.version() == version
