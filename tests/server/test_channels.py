"""Channels with the JSON of the seeds, and chat requests with the statuses of the specification (cht-1)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import httpx2
import pytest

from fabula.access.model import Membership, Role
from fabula.llm.model import ModelCall, StreamEvent, TextChunk
from fabula.server.access import Access
from fabula.server.app import make_app
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.server.running import post_and_leave, run_process_server, run_server
from tests.workspace.chat.scripted import ScriptedProvider


def test_a_prompt_is_assembled_over_its_channel_with_the_fields_of_the_seed(
    client: httpx2.Client, story: ProjectHandle
) -> None:
    asked = {"projectId": story.id, "documentId": "ch-01", "cursorPosition": 40, "skillId": "continue"}
    answer = client.post("/api/channels/context:assemble", json={**asked, "additionalInput": "Go on."}).json()
    assert {"prompt", "tokenCount", "stablePrefixHash", "stablePrefixUnchanged", "layers", "warnings"} <= set(answer)
    assert set(answer["layers"]) == {"rules", "settings", "retrieved", "immediate"}
    assert set(answer["layers"]["retrieved"]) == {"tokens", "truncated", "chunks"}
    inspected = client.post("/api/channels/context:inspect", json=asked).json()
    assert inspected["fragments"]
    again = client.post(f"/api/projects/{story.id}/assemblies/{answer['assemblyId']}/answered", json={})
    assert again.status_code == 204


def test_constraints_are_created_listed_changed_and_deleted_over_their_channels(
    client: httpx2.Client, story: ProjectHandle
) -> None:
    project = {"projectId": story.id}

    def call(name: str, **given: object) -> httpx2.Response:
        return client.post(f"/api/channels/constraints:{name}", json={**project, **given})

    made = call("create", text="Nobody sings on the quay.", kind="world").json()
    assert made["id"] in [one["id"] for one in call("list").json()["constraints"]]
    assert call("update", constraintId=made["id"], priority=9).json()["priority"] == 9
    assert call("delete", constraintId=made["id"]).status_code == 200
    gone = call("delete", constraintId=made["id"])
    assert (gone.status_code, gone.json()["code"]) == (404, "CONSTRAINT_NOT_FOUND")
    assert call("create").json()["code"] == "CONTEXT_REQUEST_INVALID"


def test_a_stale_budget_is_refused_over_its_channel(client: httpx2.Client, story: ProjectHandle) -> None:
    project = {"projectId": story.id}
    before = client.post("/api/channels/context:budget:get", json=project).json()
    profile = {**before["profile"], "rules": {"ratio": 0.1, "minimum": 400}}
    change = {**project, "profile": profile, "expectedVersion": before["version"]}
    first = client.post("/api/channels/context:budget:update", json=change)
    assert first.json()["profile"]["rules"] == {"ratio": 0.1, "minimum": 400}
    second = client.post("/api/channels/context:budget:update", json=change)
    assert (second.status_code, second.json()["code"]) == (409, "CONTEXT_BUDGET_CONFLICT")
    wrong = {**project, "profile": {"rules": {"ratio": 2.0, "minimum": 0}}}
    refused = client.post("/api/channels/context:budget:update", json=wrong)
    assert (refused.status_code, refused.json()["code"]) == (400, "CONTEXT_BUDGET_INVALID_RATIO")


def test_a_change_of_a_budget_leaves_the_rest_of_it(client: httpx2.Client, story: ProjectHandle) -> None:
    def call(**given: object) -> httpx2.Response:
        return client.post("/api/channels/context:budget:update", json={"projectId": story.id, **given})

    before = client.post("/api/channels/context:budget:get", json={"projectId": story.id}).json()
    assert {"replyRatio", "replyMost"} < set(before["profile"])
    assert "inputTokens" in before["limits"]
    call(profile={"settings": {"ratio": 0.05, "minimum": 100}, "replyMost": 900}, limits={"retrievedChunks": 7})
    changed = call(profile={"rules": {"ratio": 0.1}}, limits={"inputTokens": 9000}).json()
    assert changed["profile"] == {
        **before["profile"],
        "rules": {"ratio": 0.1, "minimum": before["profile"]["rules"]["minimum"]},
        "settings": {"ratio": 0.05, "minimum": 100},
        "replyMost": 900,
    }
    assert changed["limits"] == {**before["limits"], "retrievedChunks": 7, "inputTokens": 9000}
    wrong: list[tuple[str, dict[str, object]]] = [
        ("rules", {"profile": {"ruls": {"ratio": 0.2}}}),
        ("ratio", {"profile": {"rules": {"rato": 0.2}}}),
        ("replyRatio", {"profile": {"reply_ratio": 0.2}}),
        ("inputTokens", {"limits": {"inputToken": 5000}}),
    ]
    for near, given in wrong:
        refused = call(**given)
        assert (refused.status_code, refused.json()["code"]) == (400, "CONTEXT_REQUEST_INVALID")
        assert near in refused.json()["detail"], refused.json()["detail"]
    same: list[dict[str, object]] = [{}, {"profile": {}}, {"limits": {}}, {"profile": {"rules": {"ratio": 0.1}}}]
    for nothing in same:
        assert call(**nothing, expectedVersion=changed["version"]).json() == changed  # the version is the same too
    assert call(expectedVersion=changed["version"] + 1).json()["code"] == "CONTEXT_BUDGET_CONFLICT"
    after = client.post("/api/channels/context:budget:get", json={"projectId": story.id}).json()
    assert after == changed


def test_the_project_of_an_address_need_not_be_named_again(client: httpx2.Client, story: ProjectHandle) -> None:
    base = f"/api/projects/{story.id}"
    for path, given in (("assemble", {}), ("inspect", {}), ("explain", {"name": "Mara"})):
        asked = {"documentId": "ch-01", "cursorPosition": 40, **given}
        short = client.post(f"{base}/{path}", json=asked)
        assert short.status_code == 200, short.text
        assert client.post(f"{base}/{path}", json={**asked, "projectId": story.id}).status_code == 200
    refused = client.post("/api/channels/context:assemble", json={"documentId": "ch-01"})
    assert (refused.status_code, refused.json()["code"]) == (400, "CONTEXT_REQUEST_INVALID")
    assert "`projectId`" in refused.json()["detail"]


def test_more_answers_than_are_written_at_once_are_refused(client: httpx2.Client, story: ProjectHandle) -> None:
    refused = client.post(f"/api/projects/{story.id}/write", json={"documentId": "ch-01", "variants": 99})
    assert (refused.status_code, refused.json()["code"]) == (400, "CONTEXT_REQUEST_INVALID")
    assert "99" in refused.json()["detail"]


def test_a_request_for_another_project_than_that_of_the_address_is_refused(
    client: httpx2.Client, workspace: Workspace, story: ProjectHandle
) -> None:
    other = workspace.create_project("Other")
    for name in (other.id, "Other", "other", "nothing"):
        refused = client.post(f"/api/projects/{story.id}/assemble", json={"projectId": name})
        assert (refused.status_code, refused.json()["code"]) == (403, "CONTEXT_SCOPE_VIOLATION")


@pytest.mark.parametrize("name", ["1", "the lantern coast", "The Lan"])
def test_a_request_names_its_project_as_an_address_does(client: httpx2.Client, story: ProjectHandle, name: str) -> None:
    asked = {"projectId": name, "documentId": "ch-01", "cursorPosition": 40}
    for path in ("channels/context:budget:get", "channels/context:assemble", "channels/context:inspect"):
        body = asked if "budget" not in path else {"projectId": name}
        answer = client.post(f"/api/{path}", json=body)
        assert answer.status_code == 200, answer.text
    for place in (story.id, name):
        for _ in range(3):  # also of a prompt that is warm
            assert client.post(f"/api/projects/{place}/assemble", json=asked).status_code == 200


def test_a_chat_request_starts_a_thread_and_goes_on_with_it(client: httpx2.Client, story: ProjectHandle) -> None:
    story.participants.add("Bo", persona="A pilot.")
    first = client.post("/api/chat", json={"message": "Hello", "mode": "", "thread_slug": "the-lantern-coast"}).json()
    assert set(first) == {"thread_id", "user_message", "responses", "notes"}
    assert [(one["display_name"], one["content"]) for one in first["responses"]] == [("Bo", "I am Bo.")]
    more = {"message": "And?", "thread_id": first["thread_id"], "project_id": story.id}
    assert client.post("/api/chat", json=more).json()["thread_id"] == first["thread_id"]


class SlowProvider(ScriptedProvider):
    """Begins an answer and does not end it."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.stopped = threading.Event(), threading.Event()

    async def stream(self, call: ModelCall) -> AsyncGenerator[StreamEvent, None]:
        try:
            yield TextChunk("The lamp is ")
            self.asked.set()
            await asyncio.sleep(60)
        finally:
            self.stopped.set()


def test_a_client_that_leaves_a_chat_request_stops_the_model_and_what_was_said_is_kept(
    workspace: Workspace, story: ProjectHandle
) -> None:
    story.participants.add("Bo", persona="A pilot.")
    slow, before = SlowProvider(), {one.record.id for one in story.conversations.list_all()}
    with run_server(workspace, model=slow) as server:
        body = {"message": "Hello", "project_id": story.id}
        post_and_leave(server.base_url, "/api/chat", body, slow.asked)
        assert slow.stopped.wait(20)
    conversations = workspace.project(story.id).conversations
    (thread,) = {one.record.id for one in conversations.list_all()} - before
    kept = conversations.read_page(thread).messages
    assert [one.content for one in kept] == ["Hello", "The lamp is"]


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "one"}])
def test_a_server_that_is_told_to_stop_says_so_to_whoever_waits_for_a_chat_request(
    workspace: Workspace, story: ProjectHandle, monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]
) -> None:
    story.participants.add("Bo", persona="A pilot.")
    slow = SlowProvider()
    monkeypatch.setattr("fabula.server.serving.make_app", partial(make_app, model=slow))
    monkeypatch.setattr("fabula.server.serving.STREAM_SECONDS", 0.5)
    body = {"message": "Hello", "project_id": story.id}
    with run_process_server(workspace) as server, server.client() as client, ThreadPoolExecutor(1) as pool:
        asking = pool.submit(client.post, "/api/chat", json=body, headers=headers)
        assert slow.asked.wait(30)
        server.stop()
        answer = asking.result()
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, answer.json()["code"]) == (503, "SERVER_STOPPING")
    assert int(answer.headers["retry-after"]) >= 1
    assert slow.stopped.is_set()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"message": " ", "project_id": "OWN"}, 400),
        ({"message": "Hello", "project_id": "OWN", "thread_id": "nothing"}, 404),
        ({"message": "Hello", "project_id": "nothing"}, 404),
        ({"message": "Hello", "thread_slug": "nothing"}, 404),
        ({"message": "Hello", "project_id": "OTHER", "thread_id": "THREAD"}, 409),
        ({"message": "Hello"}, 422),
        ({"message": "Hello", "project_id": "OTHER"}, 422),
        ({"message": "Hello", "project_id": "OWN", "mode": "nothing"}, 422),
    ],
)
def test_a_chat_request_has_the_statuses_of_the_specification(
    client: httpx2.Client, workspace: Workspace, story: ProjectHandle, sent: dict[str, str], status: int
) -> None:
    story.participants.add("Bo", persona="A pilot.")
    thread = story.chat.start(["Bo"]).record.id
    places = {"OWN": story.id, "OTHER": workspace.create_project("Other").id, "THREAD": thread}
    answer = client.post("/api/chat", json={name: places.get(value, value) for name, value in sent.items()})
    assert answer.status_code == status, answer.text


def test_a_chat_answer_has_the_notes_of_its_turn_in_the_language_of_the_reader(
    client: httpx2.Client, story: ProjectHandle
) -> None:
    story.participants.add("Bo", persona="A pilot.")
    sent = {"message": "Hello @Nobody", "project_id": story.id}
    assert client.post("/api/chat", json={**sent, "message": "Hello @Bo"}).json()["notes"] == []
    assert client.post("/api/chat", json=sent).json()["notes"] == ["Nobody here is called Nobody."]
    chinese = client.post("/api/chat", json=sent, headers={"Accept-Language": "zh"}).json()["notes"]
    assert len(chinese) == 1
    assert "Nobody here" not in chinese[0]


def test_a_chat_request_names_who_answers(client: httpx2.Client, story: ProjectHandle) -> None:
    story.participants.add("Bo", persona="A pilot.")
    sent = {"message": "Hello", "project_id": story.id}
    answer = client.post("/api/chat", json={**sent, "provider": "clipboard"}).json()
    assert [one["error"]["code"] for one in answer["responses"]] == ["LLM_NO_KEY"]
    stream = client.post("/api/chat/stream", json={**sent, "provider": "clipboard"}).text
    assert "event: prompt" in stream
    before = [one.record.id for one in story.conversations.list_all()]
    refused = client.post("/api/chat", json={**sent, "provider": "nobody"})
    assert (refused.status_code, refused.json()["code"]) == (400, "SETTING_INVALID")
    assert [one.record.id for one in story.conversations.list_all()] == before


@pytest.mark.parametrize("path", ["/api/chat", "/api/chat/stream"])
def test_a_chat_request_reaches_no_project_of_somebody_else_by_its_name(
    workspace: Workspace, story: ProjectHandle, path: str
) -> None:
    story.participants.add("Bo", persona="A pilot.")
    names = {"lantern": "Lantern", "1": "1", "the-lantern-coast": "The Lantern Coast"}
    foreign = {slug: workspace.create_project(title) for slug, title in names.items()}
    for one in foreign.values():
        one.participants.add("Zed", persona="A spy.")
    ann = Access(user="ann", memberships={story.id: Membership(Role.EDITOR)})
    with run_server(workspace, {"ann": ann}) as server, server.client("ann") as client:
        for slug in foreign:
            answer = client.post(path, json={"message": "Hello", "thread_slug": slug})
            assert answer.status_code == (200 if slug == "the-lantern-coast" else 404), answer.text
            assert "Zed" not in answer.text
            assert not any(one.id in answer.text for one in foreign.values())
        both = {"message": "Hello", "thread_slug": "lantern", "project_id": story.id}
        assert client.post(path, json=both).status_code == 404
        assert client.post(path, json={"message": "Hello", "project_id": foreign["1"].id}).status_code == 404
    assert [one.conversations.list_all() for one in foreign.values()] == [[], [], []]
