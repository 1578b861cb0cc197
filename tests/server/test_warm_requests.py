"""Prompts that were made a moment ago are made on the event loop, with one look at the versions of the store."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import httpx2
import msgspec
import pytest

from fabula.access.model import Membership, Role
from fabula.server import calls, handlers, warm_requests
from fabula.server.access import Access
from fabula.store.versions import SqliteVersionReader
from fabula.workspace.continuity import OutdatedViewError
from fabula.workspace.project import ProjectHandle
from fabula.workspace.schemas.context import describe_prompt, encode_prompt
from fabula.workspace.workspace import Workspace
from tests.server.running import run_server


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the threads that made prompts."""
    names: list[str] = []
    make_reply = calls.make_reply

    def note(*args: Any) -> Any:
        names.append(threading.current_thread().name.partition("_")[0])
        return make_reply(*args)

    monkeypatch.setattr(handlers, "make_reply", note)
    return names


@pytest.fixture
def version_checks(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """The owners whose versions were read."""
    checks: list[Sequence[str]] = []
    read, read_with_value = SqliteVersionReader.read, SqliteVersionReader.read_with_value

    def note(self: SqliteVersionReader, owners: Sequence[str]) -> list[int]:
        checks.append(owners)
        return read(self, owners)

    def note_with_value(self: SqliteVersionReader, owners: Sequence[str], *more: Any) -> tuple[list[int], Any]:
        checks.append(owners)
        return read_with_value(self, owners, *more)

    monkeypatch.setattr(SqliteVersionReader, "read", note)
    monkeypatch.setattr(SqliteVersionReader, "read_with_value", note_with_value)
    return checks


def ask(client: httpx2.Client, story: ProjectHandle, **fields: Any) -> Any:
    asked = {"projectId": story.id, "documentId": "1", "cursorPosition": 40, "skillId": "continue", **fields}
    answer = client.post(f"/api/projects/{story.id}/assemble", json=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def turn_off_passages(workspace: Workspace, story: ProjectHandle) -> None:
    workspace.settings(story.id).set("search.passages", False)


def test_a_warm_prompt_is_the_same_as_the_first_one(client: httpx2.Client, story: ProjectHandle) -> None:
    answers = [ask(client, story) for _ in range(4)]
    assert all(one["messages"] == answers[0]["messages"] for one in answers)
    story.chapters.write("1", "Another beginning. The lamp was out, and nobody spoke.")
    changed = ask(client, story)
    assert "Another beginning" in str(changed["messages"])
    assert ask(client, story)["messages"] == changed["messages"]


def test_a_warm_prompt_is_made_on_the_loop_with_one_look_at_the_versions(
    client: httpx2.Client,
    workspace: Workspace,
    story: ProjectHandle,
    threads: list[str],
    version_checks: list[Sequence[str]],
) -> None:
    turn_off_passages(workspace, story)
    for _ in range(3):
        ask(client, story)
    assert threads[0] == "fabula"
    assert threads[-1] != "fabula"
    version_checks.clear()
    ask(client, story, cursorPosition=41)
    assert threads[-1] != "fabula"
    assert len(version_checks) == 1


def test_a_changed_project_and_another_document_are_made_in_a_thread(
    client: httpx2.Client, workspace: Workspace, story: ProjectHandle, threads: list[str]
) -> None:
    turn_off_passages(workspace, story)
    for _ in range(3):
        ask(client, story)
    ask(client, story, documentId="2")
    assert threads[-1] == "fabula"
    ask(client, story)
    assert threads[-1] != "fabula"
    story.codex.add("Lamp")
    ask(client, story)
    assert threads[-1] == "fabula"


def test_a_prompt_that_took_long_is_timed_by_the_processor_before_it_counts_as_cold(
    client: httpx2.Client, workspace: Workspace, story: ProjectHandle, threads: list[str]
) -> None:
    turn_off_passages(workspace, story)
    for _ in range(3):
        ask(client, story)
    threads.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warm_requests, "MAX_SECONDS", -1.0)
        for _ in range(3):  # too long by the clock, too long by the processor, and cold
            ask(client, story)
    assert [name == "fabula" for name in threads] == [False, False, True]
    for _ in range(2):
        ask(client, story)
    assert threads[-1] != "fabula"


def test_a_prompt_that_would_wait_for_the_search_index_is_made_in_a_thread(
    client: httpx2.Client, workspace: Workspace, story: ProjectHandle, threads: list[str]
) -> None:
    workspace.settings(story.id).set("search.passages", True)
    ask(client, story)
    assert workspace.find_warm_project(story.id, story.principal) is not None  # the index of a small story is made
    story.chapters.write("1", "Another beginning. The lamp was out, and nobody spoke.")
    outdated = workspace.find_warm_project(story.id, story.principal)
    assert outdated is not None
    assert not outdated.is_current
    with pytest.raises(OutdatedViewError):
        outdated.assemble(outdated.request(document_id="1"))
    _ = story.view
    assert workspace.find_warm_project(story.id, story.principal) is None
    ask(client, story)
    assert threads[-1] == "fabula"
    assert workspace.find_warm_project(story.id, story.principal) is not None


def test_a_document_that_was_written_a_moment_ago_is_found_by_a_warm_project(
    client: httpx2.Client, workspace: Workspace, story: ProjectHandle
) -> None:
    turn_off_passages(workspace, story)
    for _ in range(3):
        ask(client, story)
    chapter = story.chapters.add("A new one", "A new chapter, in which the lamp is lit again.")
    assert "lit again" in str(ask(client, story, documentId=chapter.id, cursorPosition=46)["messages"])


def test_a_prompt_is_encoded_as_it_is_described(story: ProjectHandle) -> None:
    result = story.assemble(story.request(document_id="1", additional_input='She said: "Ja, schön…" \\ 灯\n\x7f'))
    assert encode_prompt(result) == msgspec.json.encode(describe_prompt(result))


def test_somebody_elses_warm_project_stays_unknown(workspace: Workspace, story: ProjectHandle) -> None:
    turn_off_passages(workspace, story)
    other = workspace.create_project("Another")
    people = {"ann": Access(user="owner", memberships={other.id: Membership(Role.READER)})}
    with run_server(workspace, people) as server, server.client() as owner, server.client("ann") as ann:
        for _ in range(3):
            ask(owner, story)
        asked = {"projectId": story.id, "documentId": "1", "skillId": "continue"}
        refused = ann.post(f"/api/projects/{story.id}/assemble", json=asked)
        absent = ann.post("/api/projects/none/assemble", json={**asked, "projectId": "none"})
        assert (refused.status_code, refused.json()) == (absent.status_code, absent.json())
        assert refused.status_code == 404
