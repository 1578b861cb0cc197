"""Windows are told what changed in a project: all of it, once, in order, and only what they may read."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from fabula.access.model import Membership, Right, Role
from fabula.context.request import Grants
from fabula.core.story import Perspective
from fabula.server import events
from fabula.server.access import OWNER_ACCESS, Access
from fabula.store import change_signal, transaction
from fabula.store.store import Store
from fabula.workspace import change_feed
from fabula.workspace.project import ProjectHandle
from fabula.workspace.project_events import KINDS, MAX_ITEMS, EventReader
from fabula.workspace.workspace import Workspace
from tests.cli.processes import read_token
from tests.server.running import RunningServer, make_client, run_server
from tests.server.test_streams import Event, read_events


@contextmanager
def follow(client: httpx2.Client, project_id: str, last_event: str = "") -> Iterator[Iterator[Event]]:
    """The events of a project, from now on or behind an id."""
    headers = {"Last-Event-ID": last_event} if last_event else {}
    with client.stream("GET", f"/api/projects/{project_id}/events", headers=headers) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield read_events(answer)


def list_changes(event: Event) -> set[tuple[str, str]]:
    changes: Any = event[2]["changes"]
    return {(one["kind"], one["id"]) for one in changes}


def wait_until(condition: Any) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen")


def test_a_window_is_told_the_kind_id_and_version_of_what_changed_and_not_its_text(
    workspace: Workspace, story: ProjectHandle, client: httpx2.Client
) -> None:
    with follow(client, story.id) as told:
        ident, kind, data = next(told)
        assert (kind, data) == ("ready", {"version": int(ident), "changes": []})
        entry = story.codex.add("Oar", description="A long quillwort oar.")
        event = next(told)
        assert event[1] == "change"
        assert event[0] == str(event[2]["version"]) == str(workspace.store.versions(project=story.id)[0])
        assert list_changes(event) == {("codex", entry.id)}
        assert "quillwort" not in str(event)
        story.chapters.write("1", "She rowed.")
        assert ("chapters", "ch-01") in list_changes(next(told))


def test_a_window_that_comes_back_misses_nothing_also_in_another_process(
    workspace: Workspace, story: ProjectHandle, server: RunningServer, tmp_path: Path
) -> None:
    with server.client() as client, follow(client, story.id) as told:
        first = next(told)
    added = [story.codex.add(f"Oar {number}").id for number in range(5)]
    with Workspace.open(tmp_path / "data") as other, run_server(other) as elsewhere:
        for place in (server, elsewhere):
            with place.client() as client:
                last = first[0]
                for ident in added:  # the connection breaks after every event
                    with follow(client, story.id, last) as told:
                        event = next(told)
                        last = event[0]
                        assert list_changes(event) == {("codex", ident)}
        with elsewhere.client() as client, follow(client, story.id, last) as told:
            ident = story.codex.add("One more").id
            assert list_changes(next(told)) == {("codex", ident)}


def test_a_window_whose_last_event_the_feed_does_not_reach_is_told_to_load_everything(
    story: ProjectHandle, client: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction, "FEED_LENGTH", 1)
    monkeypatch.setattr(transaction, "_PRUNE_EVERY", 1)
    monkeypatch.setattr(transaction, "MAX_LATEST", 0)
    for number in range(3):
        story.codex.add(f"Oar {number}")
    for last in ("1", "999999999", "nonsense", "9" * 40):
        with follow(client, story.id, last) as told:
            ident, kind, data = next(told)
            assert (kind, data["changes"]) == ("reset", [])
            assert int(ident) == data["version"]


def test_a_change_of_many_things_is_one_short_event(story: ProjectHandle, client: httpx2.Client) -> None:
    with follow(client, story.id) as told:
        next(told)
        assert story.store is not None
        with story.store.write(project=story.id) as tx:
            for number in range(MAX_ITEMS + 1):
                tx.record_change("project", "codex", f"e{number}")
            tx.record_change("project", "manuscript", "ch-01")
        assert list_changes(next(told)) == {("codex", ""), ("chapters", "ch-01")}


def test_a_window_that_is_slower_than_the_others_misses_nothing(
    story: ProjectHandle, client: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "KEPT_BATCHES", 1)
    with follow(client, story.id) as told:
        next(told)
        added = []
        for number in range(8):
            added.append(story.codex.add(f"Oar {number}").id)
            time.sleep(0.1)
        assert [list_changes(next(told)) for _ in added] == [{("codex", one)} for one in added]


def test_all_windows_of_a_project_share_one_reader_of_the_feed_and_it_ends_with_the_last_window(
    workspace: Workspace, story: ProjectHandle, server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    plain = change_feed.read_changes

    def count(store: Store, project_id: str, since: int) -> change_feed.ChangeBatch:
        read.append(project_id)
        return plain(store, project_id, since)

    monkeypatch.setattr(change_feed, "read_changes", count)
    follower = workspace.change_follower
    assert not follower.is_running
    with server.client() as first, server.client() as second:
        with follow(first, story.id) as one, follow(second, story.id) as two:
            next(one), next(two)
            threads = [one.name for one in threading.enumerate()]
            assert threads.count("fabula-changes") == 1
            story.codex.add("Oar")
            assert next(one) == next(two)
        assert read == [story.id]
    wait_until(lambda: not follower.is_running)


def test_versions_are_read_by_nobody_while_nobody_listens(
    workspace: Workspace, story: ProjectHandle, server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server.client() as client, follow(client, story.id) as told:
        next(told)
    wait_until(lambda: not workspace.change_follower.is_running)
    monkeypatch.setattr(change_feed, "_read_versions", lambda *_: pytest.fail("nobody listens"))
    time.sleep(3 * change_signal.POLL_SECONDS)


PLAYER = Grants(
    perspectives=frozenset({Perspective.CHARACTER}),
    characters=frozenset({"mara"}),
    documents=frozenset({"ch-01"}),
    conversations=frozenset(),
    entries=frozenset(),
)


def test_each_role_follows_its_own_projects_and_no_others(workspace: Workspace, story: ProjectHandle) -> None:
    foreign = workspace.create_project("Somebody else's").id
    people = {
        role.value: Access(
            user=role.value,
            memberships={story.id: Membership(role, PLAYER if role is Role.PLAYER else Grants())},
        )
        for role in Role
    }
    people["plain-key"] = people["editor"].limit(rights=frozenset({Right.PLAY}), projects=None)
    with run_server(workspace, people) as server:
        for name in people:
            with server.client(name) as client:
                if name == "plain-key":
                    answer = client.get(f"/api/projects/{story.id}/events")
                    assert (answer.status_code, answer.json()["code"]) == (403, "CONTEXT_NOT_ALLOWED")
                    continue
                with follow(client, story.id) as told:
                    assert next(told)[1] == "ready"
                answers = [client.get(f"/api/projects/{one}/events") for one in (foreign, "nowhere")]
                assert [one.status_code for one in answers] == [404, 404]
                assert answers[0].content == answers[1].content
        with server.client(None) as nobody:
            assert nobody.get(f"/api/projects/{story.id}/events").status_code == 401


def test_a_player_is_told_only_of_what_it_can_read(workspace: Workspace, story: ProjectHandle) -> None:
    assert story.store is not None
    people = {"player": Access(user="player", memberships={story.id: Membership(Role.PLAYER, PLAYER)})}
    secret = story.codex.add("Debt", description="Nobody knows.", known_to=["Will"]).id
    with run_server(workspace, people) as server, server.client("player") as player:
        readable = {one["id"] for one in player.get(f"/api/projects/{story.id}/reading/entries").json()["items"]}
        assert "mara" in readable
        assert secret not in readable
        with follow(player, story.id) as told:
            first = next(told)
            story.codex.edit("Debt", description="Nobody at all knows.")
            story.chapters.write("2", "A chapter of others.")
            story.constraints.add("Never say suddenly.")
            story.memory.remember("Likes short sentences.")
            story.codex.edit("mara", description="A pilot with a scar.")
            event = next(told)
            assert list_changes(event) == {("codex", "mara")}
            story.codex.remove("Debt")
            story.codex.remove("mara")
            event = next(told)
            assert ("codex", "mara") in list_changes(event)
            assert ("codex", secret) not in list_changes(event)
        with follow(player, story.id, first[0]) as told:  # what is hidden and what is gone look the same by now
            assert next(told)[1] == "reset"


def test_what_a_player_learns_is_told_though_it_did_not_change_itself(
    workspace: Workspace, story: ProjectHandle
) -> None:
    people = {"player": Access(user="player", memberships={story.id: Membership(Role.PLAYER, PLAYER)})}
    secret = story.codex.add("Debt", description="Nobody knows.", known_to=["Will"]).id
    with run_server(workspace, people) as server, server.client("player") as player, follow(player, story.id) as told:
        next(told)
        story.codex.set_knowledge("Debt", "Mara")
        assert ("codex", secret) in list_changes(next(told))


def test_a_key_that_may_only_assemble_is_told_of_what_can_be_read_alone(
    workspace: Workspace, story: ProjectHandle
) -> None:
    key = OWNER_ACCESS.limit(rights=frozenset({Right.ASSEMBLE}), projects=None)
    with (
        run_server(workspace, {"key": key}) as server,
        server.client("key") as client,
        follow(client, story.id) as told,
    ):
        next(told)
        story.constraints.add("Never say suddenly.")
        entry = story.codex.add("Oar")
        assert list_changes(next(told)) == {("codex", entry.id)}


def test_the_stream_of_a_revoked_key_ends_and_tells_nothing_more(
    workspace: Workspace, story: ProjectHandle, server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr("fabula.server.accounts.REMEMBERED_SECONDS", 0.0)
    made = workspace.people.create_key("window")
    with server.client(made.secret) as client, follow(client, story.id) as told:
        next(told)
        workspace.people.revoke_key("window")
        story.codex.add("Oar")
        assert [(kind, data["code"]) for _, kind, data in told] == [("problem", "ACCESS_REQUIRED")]


def test_the_stream_of_somebody_who_has_lost_their_role_ends_though_nothing_changes(
    workspace: Workspace, story: ProjectHandle, server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr(events, "PING_SECONDS", 0.1)
    monkeypatch.setattr("fabula.server.accounts.REMEMBERED_SECONDS", 0.0)
    workspace.people.add("ann")
    workspace.people.set_role("ann", story.id, "reader")
    key = workspace.people.create_key("window", person="ann")
    with server.client(key.secret) as client, follow(client, story.id) as told:
        next(told)
        workspace.people.remove_role("ann", story.id)
        assert [(kind, data["code"]) for _, kind, data in told] == [("problem", "PROJECT_NOT_FOUND")]
        assert client.get(f"/api/projects/{story.id}/events").status_code == 404


def test_a_person_who_becomes_a_player_is_told_less(
    workspace: Workspace, story: ProjectHandle, server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr("fabula.server.accounts.REMEMBERED_SECONDS", 0.0)
    workspace.people.add("ann")
    workspace.people.set_role("ann", story.id, "reader")
    key = workspace.people.create_key("window", person="ann")
    with server.client(key.secret) as client, follow(client, story.id) as told:
        next(told)
        workspace.people.set_role("ann", story.id, "player", character="mara")
        story.constraints.add("Never say suddenly.")
        assert next(told)[1] == "reset"
        story.constraints.add("Never say whispered.")
        story.codex.edit("mara", description="A pilot with a scar.")
        assert list_changes(next(told)) == {("codex", "mara")}


def test_the_stream_of_a_project_that_was_deleted_ends(
    workspace: Workspace, story: ProjectHandle, client: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "CHECK_SECONDS", 0.0)
    with follow(client, story.id) as told:
        next(told)
        workspace.delete_project(story.id)
        assert [kind for _, kind, _ in told][-1] == "problem"
    assert client.get(f"/api/projects/{story.id}/events").status_code == 404


def test_a_window_that_cannot_be_followed_because_the_store_is_away_is_told_to_come_back(
    story: ProjectHandle, tmp_path: Path
) -> None:
    async def run() -> list[bytes]:
        with Workspace.open(tmp_path / "data") as other:
            window = EventReader(other.project(story.id), frozenset(KINDS.values()), may_play=True)
            other.store.close()
            return [one async for one in events.EventHub(other).follow(window, "", lambda: window)]

    assert asyncio.run(run()) == [b"event: end\ndata: {}\n\n"]


def test_a_server_that_stops_ends_its_streams_at_once_and_says_so(story: ProjectHandle, tmp_path: Path) -> None:
    command = "import sys; from fabula.cli.main import main; sys.argv[0] = 'fabula'; main()"
    options = ["serve", "--port", "0", "--no-open", "--no-worker", "--store", str(tmp_path / "data")]
    with subprocess.Popen([sys.executable, "-c", command, *options], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        link, token = process.stdout.readline(), read_token(process)
        base_url = "http://" + link.partition("http://")[2].partition("/")[0]
        headers = {"Authorization": f"Bearer {token}"}
        with (
            make_client(base_url, headers) as client,
            follow(client, story.id) as told,
        ):
            assert next(told)[1] == "ready"
            process.terminate()
            assert [kind for _, kind, _ in told] == ["end"]
        assert process.wait(30) == 0
