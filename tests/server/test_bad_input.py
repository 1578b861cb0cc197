"""Bad input over HTTP: every field of every body is wrong in turn, and a refusal has a code and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import msgspec
import pytest

from fabula.access.tables import sessions
from fabula.core.errors import Code
from fabula.server.routes import ROUTES, Route
from fabula.store.store import LOCAL_USER
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.blank import lay
from tests.server.requests import make_url
from tests.server.running import RunningServer, run_server
from tests.server.stories import prepare

CODES = {code.value for code in Code}
WITH_BODY = [one for one in ROUTES if not one.reads_query]
WRONG: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**30,
    1.5,
    "",
    "\x00\u202e",
    "x" * 100_000,
    [],
    [[[]]],
    [None],
    {},
    {"wrong": {"wrong": 1}},
)
TRIES = 4  # of the wrong values for each field; the next field begins with the next value


def list_fields(route: Route) -> list[str]:
    info = msgspec.inspect.type_info(route.request_type)
    assert isinstance(info, msgspec.inspect.StructType)
    return [one.encode_name for one in info.fields]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, ProjectHandle, httpx2.Client]]:
    with Workspace.open(lay(tmp_path_factory.mktemp("bad") / "data")) as workspace:
        project = prepare(workspace)
        with run_server(workspace) as server, server.client() as client:
            yield workspace, project, client


@pytest.mark.parametrize("route", WITH_BODY, ids=lambda one: f"{one.method}-{one.name}")
def test_a_body_that_is_wrong_in_any_field_is_answered_with_a_code_and_changes_nothing(
    route: Route, opened: tuple[Workspace, ProjectHandle, httpx2.Client]
) -> None:
    workspace, project, client = opened
    url, start = make_url(route, project.id), WITH_BODY.index(route)
    example = {
        name: project.id if name in ("projectId", "project_id") else value for name, value in route.example.items()
    }
    bodies = [
        {**example, name: WRONG[(start + number * TRIES + step) % len(WRONG)]}
        for number, name in enumerate(list_fields(route))
        for step in range(TRIES)
    ]
    for body in (*bodies, {**example, "nothingOfThisName": 1}, [], "text", 7):
        before = workspace.store.versions(project=project.id)
        answer = client.request(route.method, url, json=body)
        assert answer.status_code < 500, (body, answer.text[:300])
        if answer.status_code >= 400:
            assert answer.json()["code"] in CODES
            assert answer.headers["content-type"] == "application/problem+json"
            assert workspace.store.versions(project=project.id) == before, body


def test_a_deep_value_in_any_field_is_answered_with_a_code(
    opened: tuple[Workspace, ProjectHandle, httpx2.Client],
) -> None:
    _, project, client = opened
    for route in WITH_BODY:
        for name in list_fields(route):
            deep = b'{"a":' * 900 + b"1" + b"}" * 900
            example = {key: value for key, value in route.example.items() if key != name}
            start = msgspec.json.encode(example)[:-1] + (b"," if example else b"")
            body = start + b'"' + name.encode() + b'":' + deep + b"}"
            url, headers = make_url(route, project.id), {"Content-Type": "application/json"}
            answer = client.request(route.method, url, content=body, headers=headers)
            assert answer.status_code < 500, (route.name, name, answer.text[:300])
            assert answer.status_code < 400 or answer.json()["code"] in CODES


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "x"]
)
def test_a_body_of_another_type_is_refused_at_every_route(
    content_type: str, opened: tuple[Workspace, ProjectHandle, httpx2.Client]
) -> None:
    _, project, client = opened
    for route in WITH_BODY[::7]:
        answer = client.request(
            route.method, make_url(route, project.id), content=b"a=1", headers={"Content-Type": content_type}
        )
        assert (answer.status_code, answer.json()["code"]) == (415, "HTTP_CONTENT_TYPE"), route.name
    body, headers = b'{"account": "ann", "password": "correct horse"}', {"Content-Type": content_type}
    answer = client.post("/api/session", content=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (415, "HTTP_CONTENT_TYPE")
    for path in ("/v1/chat/completions", "/v1/embeddings"):
        answer = client.post(path, content=b'{"model": "fabula/x"}', headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (415, "HTTP_CONTENT_TYPE")


def test_a_session_that_has_expired_is_refused(workspace: Workspace, server: RunningServer) -> None:
    workspace.people.add("ann", password="correct horse")
    with server.client(None) as browser:
        browser.post("/api/session", json={"account": "ann", "password": "correct horse"})
        session = browser.cookies[server.cookie]
    past = (datetime.now(UTC) - timedelta(seconds=1)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    with workspace.store.write(user=LOCAL_USER) as tx:
        tx.update_rows(sessions, {"until": past}, sessions.c.person == "ann")
    with server.client(None, Cookie=f"{server.cookie}={session}") as late:
        assert late.get("/api/projects").status_code == 401


def test_a_key_of_another_project_finds_nothing_here(
    workspace: Workspace, story: ProjectHandle, server: RunningServer
) -> None:
    other = workspace.create_project("Another").id
    key = workspace.people.create_key("script", projects=[other]).secret
    with server.client(key) as program:
        foreign = program.get(f"/api/projects/{story.id}/codex")
        absent = program.get("/api/projects/nowhere/codex")
        assert (foreign.status_code, foreign.content) == (404, absent.content)
        assert program.get(f"/api/projects/{other}/codex").status_code == 200


@pytest.mark.parametrize(
    "title", ["Book\r\nX-Evil: 1", 'Book"; filename="evil.exe', "Book\u0000\u2028é", "../../etc/passwd"]
)
def test_a_title_puts_nothing_into_headers(workspace: Workspace, client: httpx2.Client, title: str) -> None:
    project = workspace.create_project("Book")
    changed = client.patch(f"/api/projects/{project.id}", json={"title": title})
    assert changed.status_code < 500
    for path in ("save", "manuscript"):
        answer = client.get(f"/api/projects/{project.id}/{path}")
        assert answer.status_code < 500
        assert "x-evil" not in answer.headers
        disposition = answer.headers.get("content-disposition", "")
        assert not set(disposition) & set('\r\n"/')


@pytest.mark.parametrize(
    "name", ["Accept-Language", "Last-Event-ID", "If-Match", "If-None-Match", "Idempotency-Key", "Cookie"]
)
def test_strange_headers_are_read_or_refused_with_a_code(
    client: httpx2.Client, server: RunningServer, story: ProjectHandle, name: str
) -> None:
    for value in (
        "x" * 8_000,
        "\xff\xfe",
        '"',
        "; ;=,,",
        "*",
        "a.b.c.9",
        "-1",
        f'{server.cookie}="',
        "../..",
        "en;q=nan",
    ):
        sent = {name.encode(): value.encode("latin-1")}
        for method, path in (("GET", "codex"), ("POST", "codex")):
            answer = client.request(method, f"/api/projects/{story.id}/{path}", json={}, headers=sent)
            assert answer.status_code < 500, (value, answer.text)
            assert answer.status_code < 400 or answer.json()["code"] in CODES


@pytest.mark.parametrize("title", ["Two\nlines", "Two\r\nlines", "Two\u2028lines"])
def test_a_title_has_one_line(client: httpx2.Client, story: ProjectHandle, title: str) -> None:
    base = f"/api/projects/{story.id}"
    for method, path, given in (
        ("POST", "/api/projects", {}),
        ("PUT", f"{base}/title", {}),
        ("POST", f"{base}/chapters", {}),
        ("PUT", f"{base}/chapters/1/title", {}),
        ("POST", f"{base}/chats", {"participants": ["Mara"]}),
    ):
        refused = client.request(method, path, json={"title": title, **given})
        assert (refused.status_code, refused.json()["code"]) == (400, "CONTEXT_REQUEST_INVALID"), (method, path)
        assert "line break" in refused.json()["detail"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"title": "\\ud83d"}', "half of a surrogate pair"),
        (b'{"title": "x', "ends too early"),
        (b'{"title": "x", "text": 1e999}', "`text`"),
    ],
)
def test_a_refusal_says_what_is_wrong_with_a_body(
    client: httpx2.Client, story: ProjectHandle, body: bytes, said: str
) -> None:
    url, headers = f"/api/projects/{story.id}/chapters", {"Content-Type": "application/json"}
    refused = client.post(url, content=body, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (400, "CONTEXT_REQUEST_INVALID")
    assert said in refused.json()["detail"]


def test_a_missing_thing_is_not_found_and_a_new_relation_is_in_the_answer(
    client: httpx2.Client, story: ProjectHandle
) -> None:
    base = f"/api/projects/{story.id}"
    assert client.get(f"{base}/codex/Nobody-at-all").json()["title"] == "Not found"
    for path, code in (
        ("runs/nothing/message", "STORE_NOT_FOUND"),
        ("skills/kontinue/problems", "CONTEXT_SKILL_UNKNOWN"),
    ):
        assert client.get(f"{base}/{path}").json()["code"] == code
    related = client.put(f"{base}/codex/Mara/relations/Will", json={"kind": "test-kind"}).json()
    assert "test-kind" in [one["kind"] for one in related["entry"]["relations"]]
    assert client.get(f"{base}/codex/Mara").json()["relations"] == related["entry"]["relations"]


def test_a_chapter_is_not_moved_beside_itself(client: httpx2.Client, story: ProjectHandle) -> None:
    before = [one.id for one in story.chapters.list_chapters()]
    for where in ("after", "before"):
        refused = client.put(f"/api/projects/{story.id}/chapters/1/place", json={where: "1"})
        assert (refused.status_code, refused.json()["code"]) == (400, "CONTEXT_REQUEST_INVALID")
    assert [one.id for one in story.chapters.list_chapters()] == before


def test_a_project_is_deleted_by_its_whole_name_only(client: httpx2.Client, workspace: Workspace) -> None:
    made = workspace.create_project("Scratchpad").id
    for part in ("Scratch", "pad", made[:10]):
        assert client.delete(f"/api/projects/{part}").status_code == 404
    assert client.delete("/api/projects/scratchpad").json()["id"] == made


@pytest.mark.parametrize(
    ("address", "body"),
    [
        ("series", {"title": "The\nCoast"}),
        ("projects/1/lorebooks", {"name": "The\nCoast"}),
        ("accounts", {"account": "ann", "name": "Ann\nB", "password": "a long one"}),
        ("keys", {"label": "my\nscript"}),
    ],
)
def test_a_title_or_name_has_one_line(
    client: httpx2.Client, story: ProjectHandle, address: str, body: dict[str, str]
) -> None:
    refused = client.post(f"/api/{address}", json=body)
    assert (refused.status_code, refused.json()["code"]) == (400, "CONTEXT_REQUEST_INVALID"), refused.text
    imported = client.post("/api/imports?title=a%0Ab&fileName=a.md", content=b"# One\n\nText.")
    assert imported.status_code == 400
