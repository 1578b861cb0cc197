"""What an owner of a project, and everybody for themselves, can do about people and keys over HTTP."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

import httpx2
import pytest

from fabula.context.request import Principal
from fabula.mcp.tools import TOOLS
from fabula.server.routes import ROUTES
from fabula.workspace.keys import list_key_verbs
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.server.running import RunningServer, run_server
from tests.server.test_access import read_code

PASSWORD = "correct horse"


@pytest.fixture
def running(workspace: Workspace, story: ProjectHandle) -> Iterator[RunningServer]:
    """A server with Ann, who owns the story, Ed, who edits it, and Zoe, who belongs to another project."""
    other = workspace.create_project("Somebody Else's")
    for account in ("ann", "ed", "zoe"):
        workspace.people.add(account, name=account.title(), password=PASSWORD)
    workspace.people.set_role("ann", story.id, "owner")
    workspace.people.set_role("ed", story.id, "editor")
    for account in ("ed", "zoe"):
        workspace.people.set_role(account, other.id, "owner")
    with run_server(workspace) as server:
        yield server


@contextmanager
def sign_in(server: RunningServer, account: str, password: str = PASSWORD) -> Iterator[httpx2.Client]:
    with server.client(None, Origin=server.base_url) as browser:
        answer = browser.post("/api/session", json={"account": account, "password": password})
        assert answer.status_code == 204, answer.text
        yield browser


def test_an_owner_of_a_project_changes_its_members_and_learns_nothing_else(
    running: RunningServer, story: ProjectHandle, workspace: Workspace, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    base = f"/api/projects/{story.id}/members"
    (foreign,) = (one for one in workspace.projects() if one.title == "Somebody Else's")
    with sign_in(running, "ann") as ann:
        listed = ann.get(base).json()["items"]
        assert [(one["id"], one["role"]["role"]) for one in listed] == [("ann", "owner"), ("ed", "editor")]
        given = ann.put(f"{base}/zoe", json={"role": "player", "character": "Mara", "documents": ["1"]})
        assert given.status_code == 200, given.text
        assert given.json()["role"]["characterNames"] == ["Mara Venn"]
        answers = [given, ann.get(base), ann.get(f"{base}/ed"), ann.put(f"{base}/ed", json={"role": "reader"})]
        assert ann.delete(f"{base}/zoe").status_code == 200
        for one in answers:
            assert foreign.id not in one.text
            assert foreign.title not in one.text
            assert "assword" not in one.text
        assert read_code(ann.put(f"{base}/nobody", json={"role": "reader"})) == (404, "STORE_NOT_FOUND")
        assert read_code(ann.delete(f"{base}/ann")) == (409, "ACCESS_LAST_OWNER")
        assert read_code(ann.put(f"{base}/ann", json={"role": "reader"})) == (409, "ACCESS_LAST_OWNER")
        away = f"/api/projects/{foreign.id}/members"
        for refused in (ann.get(away), ann.put(f"{away}/ann", json={"role": "owner"}), ann.delete(f"{away}/zoe")):
            assert read_code(refused) == (404, "PROJECT_NOT_FOUND")
        for method, path, body in (
            ("GET", "/api/accounts", None),
            ("DELETE", "/api/accounts/ed", {}),
            ("PUT", "/api/accounts/ed/password", {"password": "another one"}),
            ("POST", "/api/accounts/ed/link", {}),
            ("PUT", f"/api/accounts/ann/roles/{foreign.id}", {"role": "owner"}),
            ("DELETE", "/api/accounts/ed/sessions", {}),
            ("GET", "/api/keys", None),
        ):
            assert read_code(ann.request(method, path, json=body)) == (403, "CONTEXT_NOT_ALLOWED"), path
    assert workspace.people.find("ed").memberships[foreign.id].role == "owner"
    assert f"role given: zoe in {story.id}: player by ann" in caplog.text
    with sign_in(running, "ed") as ed:
        assert read_code(ed.get(base)) == (403, "CONTEXT_NOT_ALLOWED")
        assert read_code(ed.put(f"{base}/ed", json={"role": "owner"})) == (403, "CONTEXT_NOT_ALLOWED")


def test_whatever_changes_access_takes_whole_names_so_that_a_repeat_reaches_nobody_else(
    running: RunningServer, story: ProjectHandle, workspace: Workspace
) -> None:
    people = workspace.people
    for account, name in (("anna", "Anna Quill"), ("bobby", "Bobby Fell"), ("annabel", "")):
        people.add(account, name=name, password=PASSWORD)
        people.set_role(account, story.id, "reader")
    for label in ("laptop", "laptop of anna"):
        people.create_key(label, person="anna")
    base = f"/api/projects/{story.id}/members"

    def read_store() -> tuple[object, ...]:
        return people.list_all(), people.list_keys()

    with running.client() as owner:
        assert owner.delete("/api/accounts/ANN").status_code == 200
        assert owner.delete("/api/keys/Laptop").json()["label"] == "laptop"
        assert owner.delete(f"{base}/annabel").status_code == 200
        before = read_store()
        title = quote(story.view.project.title[:6])
        for method, path, body in (
            ("DELETE", "/api/accounts/ann", {}),
            ("DELETE", "/api/accounts/1", {}),
            ("DELETE", "/api/accounts/Bobby%20Fell", {}),
            ("PUT", "/api/accounts/bob/password", {"password": "another one"}),
            ("POST", "/api/accounts/bob/link", {}),
            ("DELETE", "/api/accounts/bob/sessions", {}),
            ("PUT", f"/api/accounts/bob/roles/{story.id}", {"role": "owner"}),
            ("PUT", f"/api/accounts/bobby/roles/{title}", {"role": "owner"}),
            ("DELETE", f"/api/accounts/bobby/roles/{title}", {}),
            ("POST", "/api/keys", {"label": "x", "person": "bob"}),
            ("POST", "/api/keys", {"label": "x", "projects": [story.view.project.title[:6]]}),
            ("DELETE", "/api/keys/of%20anna", {}),
            ("DELETE", f"{base}/ann", {}),
            ("DELETE", f"{base}/annabe", {}),
            ("PUT", f"{base}/bob", {"role": "owner"}),
            ("DELETE", f"/api/projects/{title}/members/bobby", {}),
        ):
            refused = owner.request(method, path, json=body)
            assert refused.status_code == 404, (method, path, refused.text)
        assert read_store() == before
        assert "Did you mean anna" in owner.delete("/api/accounts/ann").json()["detail"]
        assert "bobby" in owner.put(f"{base}/bob", json={"role": "owner"}).json()["detail"]
        assert owner.put(f"{base}/%EF%BC%A2obby", json={"role": "editor"}).status_code == 200  # a wide letter


def test_a_role_that_is_given_or_taken_counts_at_once(running: RunningServer, story: ProjectHandle) -> None:
    base = f"/api/projects/{story.id}"
    with sign_in(running, "ann") as ann, sign_in(running, "ed") as ed:
        assert ed.post(f"{base}/constraints", json={"text": "No cats."}).status_code == 201
        ann.put(f"{base}/members/ed", json={"role": "reader"})
        assert read_code(ed.post(f"{base}/constraints", json={"text": "No dogs."})) == (403, "CONTEXT_NOT_ALLOWED")
        ann.delete(f"{base}/members/ed")
        assert read_code(ed.get(f"{base}/chapters")) == (404, "PROJECT_NOT_FOUND")


def test_everybody_changes_their_own_password_and_stays_signed_in_there_alone(running: RunningServer) -> None:
    with sign_in(running, "ed") as here, sign_in(running, "ed") as elsewhere:
        body = {"password": "battery staple", "oldPassword": "wrong horse"}
        assert read_code(here.put("/api/account/password", json=body)) == (403, "ACCESS_PASSWORD_WRONG")
        assert elsewhere.get("/api/account").json()["id"] == "ed"
        assert here.put("/api/account/password", json={**body, "oldPassword": PASSWORD}).status_code == 204
        assert here.get("/api/account").json()["hasPassword"] is True
        assert read_code(elsewhere.get("/api/account")) == (401, "ACCESS_REQUIRED")
    with sign_in(running, "ed", "battery staple"), sign_in(running, "zoe"):
        pass


def test_everybody_sees_and_ends_their_own_sessions(running: RunningServer) -> None:
    with sign_in(running, "ed") as here, sign_in(running, "ed") as elsewhere, sign_in(running, "zoe") as zoe:
        listed = here.get("/api/account/sessions").json()["items"]
        assert {one["account"] for one in listed} == {"ed"}
        assert sorted(one["isCurrent"] for one in listed) == [False, True]
        (foreign,) = zoe.get("/api/account/sessions").json()["items"]
        assert read_code(here.delete(f"/api/account/sessions/{foreign['id']}")) == (404, "STORE_NOT_FOUND")
        (other,) = (one["id"] for one in listed if not one["isCurrent"])
        assert here.delete(f"/api/account/sessions/{other}").status_code == 204
        assert read_code(elsewhere.get("/api/account")) == (401, "ACCESS_REQUIRED")
        assert here.delete("/api/account/sessions").status_code == 204
        assert here.get("/api/account").status_code == 200
        assert zoe.get("/api/account").status_code == 200


def test_own_keys_are_made_listed_and_revoked_and_a_key_with_limits_makes_none(
    running: RunningServer, story: ProjectHandle
) -> None:
    with sign_in(running, "ed") as ed:
        assert read_code(
            ed.post("/api/account/keys", json={"label": "x", "rights": ["inspect"], "projects": [story.id]})
        )[1] == ("CONTEXT_REQUEST_INVALID")
        whole = ed.post("/api/account/keys", json={"label": "whole"}).json()["secret"]
        limits = ({"rights": ["read", "sign_in"]}, {"projects": [story.id]}, {"verbs": ["account.create_key"]})
        secrets = [ed.post("/api/account/keys", json={"label": "less", **one}).json()["secret"] for one in limits]
        assert [one["label"] for one in ed.get("/api/account/keys").json()["items"]] == ["whole", *["less"] * 3]
        made = ed.post("/api/account/keys", json={"label": "kept"}, headers={"Idempotency-Key": "once"})
        assert made.status_code == 201
        for secret in secrets:
            with running.client(secret) as key:
                for method, path in (("GET", "keys"), ("POST", "keys"), ("GET", "sessions"), ("DELETE", "sessions")):
                    body = {"label": "kept"} if method == "POST" else None if method == "GET" else {}
                    refused = key.request(
                        method, f"/api/account/{path}", json=body, headers={"Idempotency-Key": "once"}
                    )
                    assert read_code(refused) == (403, "CONTEXT_NOT_ALLOWED")
                assert read_code(key.get("/api/account")) == (403, "CONTEXT_NOT_ALLOWED")
        with running.client(whole) as key:
            assert key.get("/api/account").json()["id"] == "ed"
            assert key.delete("/api/account/keys/whole").status_code == 200
            assert read_code(key.get("/api/account")) == (401, "ACCESS_REQUIRED")


def test_people_create_projects_only_where_the_server_lets_them(
    running: RunningServer, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sign_in(running, "ed") as ed:
        assert ed.get("/api/account").json()["creatableProjects"] == 0
        assert read_code(ed.post("/api/projects", json={"title": "Mine"})) == (403, "CONTEXT_NOT_ALLOWED")
    monkeypatch.setenv("FABULA_PROJECTS_PER_PERSON", "2")  # Ed owns one already
    read_only = workspace.people.create_key("r", person="ed", rights=["read"]).secret
    bound = workspace.people.create_key("b", person="ed", projects=["Somebody Else's"]).secret
    with run_server(workspace) as server, sign_in(server, "ed") as ed:
        for secret in (read_only, bound):
            with server.client(secret) as key:
                assert read_code(key.post("/api/projects", json={"title": "x"})) == (403, "CONTEXT_NOT_ALLOWED")
        assert ed.get("/api/account").json()["creatableProjects"] == 1
        made = ed.post("/api/projects", json={"title": "Somebody Else's"})
        assert made.status_code == 201, made.text
        assert made.json()["number"] == 3
        base = f"/api/projects/{made.json()['id']}"
        assert ed.get(base).json()["number"] == 3  # at once, though who may do what is remembered for a while
        assert [one["id"] for one in ed.get(f"{base}/members").json()["items"]] == ["ed"]
        assert read_code(ed.post("/api/projects", json={"title": "x"})) == (403, "CONTEXT_NOT_ALLOWED")
        for path, method in (("/api/backups", "POST"), ("/api/series", "POST"), ("/api/samples", "GET")):
            body = {"title": "x"} if path == "/api/series" else {}
            answer = ed.request(method, path, json=None if method == "GET" else body)
            assert read_code(answer) == (403, "CONTEXT_NOT_ALLOWED")
        assert ed.request("DELETE", base, json={}).status_code == 200
        assert ed.get("/api/account").json()["creatableProjects"] == 1


def test_a_project_that_somebody_created_in_one_process_is_there_in_the_others(
    running: RunningServer, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABULA_PROJECTS_PER_PERSON", "2")
    with run_server(workspace) as first, run_server(workspace) as second, sign_in(first, "ed") as ed:
        session = {"Cookie": f"{second.cookie}={ed.cookies[first.cookie]}", "Origin": second.base_url}
        with second.client(None, **session) as there:
            assert there.get("/api/projects").status_code == 200  # which remembers who it is
            base = f"/api/projects/{ed.post('/api/projects', json={'title': 'Mine'}).json()['id']}"
            assert there.get("/api/projects").status_code == 200
            assert there.post(f"{base}/chapters", json={"title": "One"}).status_code == 201
            assert read_code(there.get("/api/projects/nowhere")) == (404, "PROJECT_NOT_FOUND")


def test_an_editor_sees_which_providers_can_answer_and_neither_addresses_nor_keys(
    running: RunningServer, story: ProjectHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    with sign_in(running, "ed") as ed, running.client() as owner:
        assert read_code(ed.get("/api/providers")) == (403, "CONTEXT_NOT_ALLOWED")
        answer = ed.get(f"/api/projects/{story.id}/providers", params={"pageSize": 100})
        found = answer.json()["items"]
        whole = owner.get("/api/providers", params={"pageSize": 100}).json()["items"]
        assert [one["name"] for one in found] == [one["name"] for one in whole]
        assert {frozenset(one) for one in found} == {frozenset({"name", "model", "canAnswer"})}
        assert next(one for one in found if one["name"] == "openai")["canAnswer"] is True
        assert not any(one["address"] in answer.text for one in whole if one["address"])
        refused = ed.put("/api/providers/openai/key", json={"key": "sk-0123456789"})
        assert read_code(refused) == (403, "CONTEXT_NOT_ALLOWED")


def test_a_key_that_names_verbs_opens_these_over_api_and_openai(
    running: RunningServer, story: ProjectHandle, workspace: Workspace
) -> None:
    base, title = f"/api/projects/{story.id}", story.view.project.title
    workspace.settings(principal=Principal(user="ed")).set("llm.provider", "demo", scope="person")
    verbs = ["project.search", "project.inspect", "codex.add", "project.write"]
    key = workspace.people.create_key("search box", person="ed", verbs=verbs).secret
    completion = {"model": f"fabula/{title}", "messages": [{"role": "user", "content": "Who keeps the lantern?"}]}
    with running.client(key) as client:
        assert client.get(f"{base}/search", params={"words": "lamp"}).status_code == 200
        assert client.post(f"{base}/codex", json={"name": "Oar"}).status_code == 201
        assert client.post("/v1/chat/completions", json=completion).status_code == 200
        assert f"fabula/{title}" in [one["id"] for one in client.get("/v1/models").json()["data"]]
        body = {"projectId": story.id, "documentId": "ch-01", "cursorPosition": 40}
        assert read_code(client.post(f"{base}/inspect", json=body)) == (403, "CONTEXT_INSPECT_FORBIDDEN")  # an editor
        for method, path, sent in (
            ("POST", "assemble", body),
            ("GET", "chapters", None),
            ("POST", "constraints", {"text": "No cats."}),
            ("GET", "members", None),
            ("GET", "events", None),
        ):
            refused = client.request(method, f"{base}/{path}", json=sent)
            assert read_code(refused) == (403, "CONTEXT_NOT_ALLOWED"), path
        embedding = client.post("/v1/embeddings", json={"model": f"fabula/{title}", "input": "lamp"})
        assert embedding.json()["error"]["code"] == "CONTEXT_NOT_ALLOWED"
        assert client.get("/api/projects").status_code == 200
    only_search = workspace.people.create_key("box", person="ed", verbs=["project.search"]).secret
    with running.client(only_search) as client:
        refused = client.post("/v1/chat/completions", json=completion)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "CONTEXT_NOT_ALLOWED")
        assert client.get("/v1/models").json()["data"] == []


def test_a_verb_of_a_debugger_s_key_looks_inside_of_prompts(
    running: RunningServer, story: ProjectHandle, workspace: Workspace
) -> None:
    workspace.people.set_role("zoe", story.id, "debugger")
    key = workspace.people.create_key("trace", person="zoe", verbs=["project.inspect"]).secret
    body = {"projectId": story.id, "documentId": "ch-01", "cursorPosition": 40}
    with running.client(key) as client:
        answer = client.post(f"/api/projects/{story.id}/inspect", json=body)
        refusal = answer.json().get("detail", "")
        assert answer.status_code == 200 or "debug mode" in refusal  # which this server may not have
        other = client.post(f"/api/projects/{story.id}/explain", json={**body, "name": "Mara"})
        assert read_code(other) == (403, "CONTEXT_INSPECT_FORBIDDEN")


def test_the_secret_of_a_browser_is_no_part_of_a_list(running: RunningServer) -> None:
    with sign_in(running, "ed") as ed:
        assert ed.cookies[running.cookie] not in ed.get("/api/account/sessions").text


def test_every_verb_of_a_route_and_of_a_tool_can_be_named_by_a_key() -> None:
    known = set(list_key_verbs())
    assert {route.verb for route in ROUTES} - known == set()
    assert {one.verb for one in TOOLS.values()} - {route.verb for route in ROUTES} == set()
