"""Chats over HTTP: the prompt that the page shows is the one that is sent, and each line is of whoever wrote it."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest

from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.server.running import RunningServer, run_server
from tests.server.test_members import PASSWORD, sign_in
from tests.workspace.chat.scripted import ScriptedProvider

SAID = "and the wind went on and on over the water. " * 12


@pytest.fixture
def model() -> ScriptedProvider:
    return ScriptedProvider()


@pytest.fixture
def running(workspace: Workspace, story: ProjectHandle, model: ScriptedProvider) -> Iterator[RunningServer]:
    """A server with Ann, who owns the story, and Bob and Ed, who edit it."""
    for account, role in (("ann", "owner"), ("bob", "editor"), ("ed", "editor")):
        workspace.people.add(account, name=account.title(), password=PASSWORD)
        workspace.people.set_role(account, story.id, role)
    with run_server(workspace, model=model) as server:
        yield server


def say(client: httpx2.Client, talk: str, text: str) -> None:
    with client.stream("POST", f"{talk}/send", json={"text": text}) as answer:
        assert answer.status_code == 200
        assert b"event: done" in answer.read()


def test_the_page_shows_the_prompt_that_a_chat_between_two_sends_and_its_cap_holds_in_it(
    running: RunningServer, story: ProjectHandle, model: ScriptedProvider
) -> None:
    story.participants.add("Bo", persona="A pilot.")
    ident = story.chat.start(["Bo"]).record.id
    me = story.chat.find_player(ident)
    for number in range(24):
        for who in (me, "Bo"):
            story.conversations.record(ident, f"Word{number:02}, {SAID}", speaker=who)
    base, text = f"/api/projects/{story.id}", "What of the wind?"
    with running.client() as page:
        assert page.put(f"{base}/settings/History.MaxPromptChars", json={"value": 1500}).is_success
        asked = {"projectId": story.id, "conversationId": ident, "speakerId": "persona:Bo", "additionalInput": text}
        shown = page.post(f"{base}/inspect", json=asked)
        assert shown.status_code == 200, shown.text
        say(page, f"{base}/chats/{ident}", text)
    (_, sent) = model.prompts[-1]
    told = [one["text"] for one in shown.json()["fragments"] if one["included"] and one["layer"] == "retrieved"]
    earlier = [one for one in told if SAID[:40] in one]
    assert 0 < len(earlier) <= 2
    assert all(one.strip() in sent for one in told)
    assert "INJECTION_CAP" in {one["reason"] for one in shown.json()["fragments"]}


def test_the_line_of_a_collaborator_is_their_own_and_they_join_whom_they_write_to(
    running: RunningServer, story: ProjectHandle
) -> None:
    story.participants.add("Bo", persona="A pilot.")
    base = f"/api/projects/{story.id}"
    with sign_in(running, "ann") as ann, sign_in(running, "bob") as bob, sign_in(running, "ed") as ed:
        ident = ann.post(f"{base}/chats", json={"participants": ["Bo"], "title": "Pier"}).json()["conversationId"]
        talk = f"{base}/chats/{ident}"
        say(ann, talk, "I am Ann.")
        say(bob, talk, "I am Bob.")
        given = ed.post("/api/chat", json={"message": "I am Ed.", "project_id": story.id, "thread_id": ident})
        assert given.status_code == 200, given.text
        assert given.json()["user_message"]["name"] == "Ed"
        say(ann, talk, "Who is here?")
        said = ann.get(f"{base}/conversations/{ident}/messages").json()["messages"]
        assert [one["name"] for one in said if one["role"] == "user"] == ["Ann", "Bob", "Ed", "Ann"]
        present = [one["name"] for one in ann.get(talk).json()["present"]]
        assert sorted(present) == ["Ann", "Bo", "Bob", "Ed"]
        assert present[2:] == ["Bob", "Ed"], "in the order in which they came"
        bobs = story.chat.get(ident).people.by_id
        own = next(one.id for one in bobs.values() if one.name == "Bob")
        assert ann.delete(f"{base}/conversations/{ident}/participants/{own}").is_success
        refused = bob.post("/api/chat", json={"message": "Still?", "project_id": story.id, "thread_id": ident})
        assert refused.status_code == 400, refused.text
        assert "Bob has left this conversation" in refused.text
