"""Streams of events: they can be followed, gone on with after a break, also in another process, and stopped."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

import httpx2
import msgspec
import pytest

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.llm.model import ModelCall, StreamEnd
from fabula.llm.model import StreamEvent as ModelEvent
from fabula.responses.streams import StreamEvent
from fabula.server.access import Access
from fabula.server.address import open_socket
from fabula.server.app import make_app
from fabula.server.serving import ProcessServer
from fabula.server.streams import LiveStream, StreamHub, read_last_event
from fabula.store.store import LOCAL_USER
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.postgres import run_postgres
from tests.server.running import OWNER_TOKEN, RunningServer, run_server
from tests.workspace.chat.scripted import ScriptedProvider

Event = tuple[str, str, dict[str, object]]


def read_events(answer: httpx2.Response) -> Iterator[Event]:
    """The events of a stream: id, kind and data."""
    fields: dict[str, str] = {}
    for line in answer.iter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "event" in fields:
            yield fields.get("id", ""), fields["event"], msgspec.json.decode(fields["data"])
            fields = {}


async def start(hub: StreamHub, story: ProjectHandle, events: AsyncGenerator[object, None]) -> LiveStream:
    """Begin a stream of the owner, who may always go on."""
    return await hub.start(
        story.id,
        LOCAL_USER,
        "chat.send",
        events,
        lambda _: ("delta", b"{}"),
        check=lambda: None,
        language="en",
    )


@pytest.fixture
def talk(workspace: Workspace, story: ProjectHandle) -> str:
    story.participants.add("Bo", persona="A pilot.")
    return f"/api/projects/{story.id}/chats/{story.chat.start(['Bo']).record.id}"


def test_a_turn_is_a_stream_of_events_with_ids(client: httpx2.Client, talk: str) -> None:
    with client.stream("POST", f"{talk}/send", json={"text": "Hello"}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        events = list(read_events(answer))
    kinds = [kind for _, kind, _ in events]
    assert kinds[0] == "stream"
    assert kinds[-2:] == ["end", "done"]
    assert {"message", "start", "delta", "reply"} <= set(kinds)
    stream = str(events[0][2]["stream"])
    assert [ident for ident, _, _ in events] == [f"{stream}.{number}" for number in range(1, len(events) + 1)]
    assert "".join(str(data["text"]) for _, kind, data in events if kind == "delta") == "I am Bo."


def test_a_request_names_the_provider_that_answers(client: httpx2.Client, talk: str) -> None:
    def read_reply(verb: str, **body: object) -> str:
        with client.stream("POST", f"{talk}/{verb}", json=body) as answer:
            events = list(read_events(answer))
        return str(next(data["message"] for _, kind, data in events if kind == "reply")["content"])  # type: ignore[index]

    assert read_reply("send", text="Hello") == "I am Bo."
    written = read_reply("regenerate", provider="demo")
    assert written not in ("", "I am Bo.")
    assert read_reply("regenerate") == "I am Bo."
    unknown = client.post(f"{talk}/ask", json={"provider": "nobody"})
    assert (unknown.status_code, unknown.json()["code"]) == (400, "SETTING_INVALID")


def test_a_stream_that_is_asked_for_again_with_its_key_is_the_same_stream(
    client: httpx2.Client, talk: str, workspace: Workspace
) -> None:
    key = {"Idempotency-Key": "turn-1"}
    first, again = (client.post(f"{talk}/send", json={"text": "Hello"}, headers=key) for _ in range(2))
    assert first.text == again.text
    assert first.headers["location"] == again.headers["location"]
    assert again.headers["idempotency-replayed"] == "true"
    messages = client.get(f"{talk.replace('chats', 'conversations')}/messages").json()["messages"]
    assert [one["content"] for one in messages].count("Hello") == 1
    ids = [line for line in first.text.splitlines() if line.startswith("id: ")]
    rest = client.post(
        f"{talk}/send", json={"text": "Hello"}, headers={**key, "Last-Event-ID": ids[1].removeprefix("id: ")}
    )
    assert [line for line in rest.text.splitlines() if line.startswith("id: ")] == ids[2:]
    other = client.post(f"{talk}/send", json={"text": "Other"}, headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "HTTP_KEY_REUSED")
    with run_server(workspace) as second, second.client() as elsewhere:
        assert elsewhere.post(f"{talk}/send", json={"text": "Hello"}, headers=key).text == first.text


def test_a_reader_who_comes_back_misses_nothing_also_in_another_process(
    workspace: Workspace, server: RunningServer, talk: str, tmp_path: Path
) -> None:
    with server.client() as client, client.stream("POST", f"{talk}/send", json={"text": "Hello"}) as answer:
        location = answer.headers["location"]
        events = list(read_events(answer))
    with Workspace.open(tmp_path / "data") as other, run_server(other) as elsewhere:
        for place in (server, elsewhere):
            with place.client() as client:
                for seen in (0, 3, len(events)):
                    headers = {"Last-Event-ID": events[seen - 1][0]} if seen else {}
                    with client.stream("GET", location, headers=headers) as answer:
                        assert list(read_events(answer)) == events[seen:]


def test_a_running_stream_can_be_followed_and_stopped_by_a_call(
    workspace: Workspace, story: ProjectHandle, talk: str, tmp_path: Path
) -> None:
    endless = ScriptedProvider(lambda *_: "word " * 1_000_000)
    with (
        run_server(workspace, model=endless) as server,
        Workspace.open(tmp_path / "data") as other,
        run_server(other) as elsewhere,
        server.client() as writer,
        elsewhere.client() as reader,
        writer.stream("POST", f"{talk}/send", json={"text": "Hello"}) as first,
    ):
        location = first.headers["location"]
        with reader.stream("GET", location) as second:
            deltas = (data for _, kind, data in read_events(second) if kind == "delta")
            assert [next(deltas)["text"] for _ in range(3)] == ["word "] * 3
        assert reader.delete(location).status_code == 204
        assert [kind for _, kind, _ in read_events(first)][-1] == "stopped"


def test_a_stream_that_nobody_reads_is_stopped_and_what_was_received_is_kept(
    workspace: Workspace, story: ProjectHandle, talk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabula.server.streams.LINGER_SECONDS", 0.1)
    endless = ScriptedProvider(lambda *_: "word " * 1_000_000)
    with run_server(workspace, model=endless) as server, server.client() as client:
        with client.stream("POST", f"{talk}/send", json={"text": "Hello"}) as answer:
            location = answer.headers["location"]
            assert next(kind for _, kind, _ in read_events(answer) if kind == "delta")
        stream = location.rpartition("/")[2]
        for _ in range(600):
            record, events = workspace.responses.read_stream(story.id, stream)
            if record.state == "ended":
                break
            time.sleep(0.05)
    assert [one.kind for one in events][-1] == "stopped"
    assert "delta" in {one.kind for one in events}


def test_a_stream_whose_writer_was_killed_ends_with_a_numbered_event_for_every_reader(
    workspace: Workspace, story: ProjectHandle, client: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabula.server.streams.LOST_SECONDS", 0.3)
    log = workspace.responses
    stream = log.begin_stream(story.id, LOCAL_USER, "chat.send")
    log.append(story.id, stream, [StreamEvent(1, "stream", "{}"), StreamEvent(2, "delta", "{}")])
    url = f"/api/projects/{story.id}/streams/{stream}"
    with client.stream("GET", url, headers={"Last-Event-ID": f"{stream}.4"}) as answer:
        ((ident, kind, problem),) = read_events(answer)  # whose reader got two that were not kept
        assert (ident, kind, problem["code"], problem["status"]) == (f"{stream}.5", "problem", "SERVER_CUT_OFF", 503)
    with client.stream("GET", url) as answer:
        assert [kind for _, kind, _ in read_events(answer)] == ["stream", "delta", "problem"]


def test_a_reader_in_another_process_gets_comments_while_there_are_no_events(
    workspace: Workspace, story: ProjectHandle, client: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabula.server.streams.PING_SECONDS", 0.1)
    monkeypatch.setattr("fabula.server.streams.LOST_SECONDS", 1.5)
    stream = workspace.responses.begin_stream(story.id, LOCAL_USER, "chat.send")
    with client.stream("GET", f"/api/projects/{story.id}/streams/{stream}") as answer:
        lines = [line for line in answer.iter_lines() if line]
    assert lines[0] == ": still here"
    assert lines[-1].startswith("data: ")


def test_the_end_of_a_stream_that_was_cut_off_is_told_in_the_language_of_its_reader(
    workspace: Workspace, story: ProjectHandle, client: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabula.server.streams.LOST_SECONDS", 0.3)
    stream = workspace.responses.begin_stream(story.id, LOCAL_USER, "chat.send")
    url = f"/api/projects/{story.id}/streams/{stream}"
    with client.stream("GET", url, headers={"Accept-Language": "zh"}) as answer:
        ((_, kind, problem),) = read_events(answer)
    assert (kind, "服务器" in str(problem["detail"])) == ("problem", True)


def test_the_error_of_a_verb_whose_stream_has_failed_already_is_not_logged(
    workspace: Workspace, story: ProjectHandle, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail() -> AsyncGenerator[object, None]:
        await asyncio.sleep(0.2)
        if workspace:
            raise RuntimeError("the heir is Mara")
        yield {}

    async def lose(*_: object, **__: object) -> bool:
        await asyncio.sleep(0.5)
        raise FabulaError(Code.STORE_UNREACHABLE, message("The database does not answer."))

    async def run() -> list[str]:
        hub = StreamHub(workspace)
        live = await start(hub, story, fail())
        assert live.task is not None
        monkeypatch.setattr(hub, "_flush", lose)
        await live.task
        return [one.kind for one in live.events]

    monkeypatch.setattr("fabula.server.streams.FLUSH_SECONDS", 0.01)
    assert asyncio.run(run()) == ["stream", "problem"]
    gc.collect()
    assert "heir" not in caplog.text


def test_an_application_ends_while_a_stream_is_running(
    workspace: Workspace, talk: str, caplog: pytest.LogCaptureFixture
) -> None:
    endless = ScriptedProvider(lambda *_: "word " * 1_000_000)
    with (
        run_server(workspace, model=endless) as server,
        server.client() as client,
        client.stream("POST", f"{talk}/send", json={"text": "Hello"}) as answer,
    ):
        assert next(kind for _, kind, _ in read_events(answer) if kind == "delta")
    assert "shutdown failed" not in caplog.text


def test_a_stream_that_is_read_in_another_process_is_not_stopped(
    workspace: Workspace, story: ProjectHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabula.server.streams.LINGER_SECONDS", 0.5)
    monkeypatch.setattr("fabula.server.streams.READ_SECONDS", 0.1)

    async def speak() -> AsyncGenerator[object, None]:
        for _ in range(20):
            await asyncio.sleep(0.1)
            yield {}

    async def run(*, is_read: bool) -> list[str]:
        writer, reader = StreamHub(workspace), StreamHub(workspace)
        live = await start(writer, story, speak())
        if is_read:
            async for _ in reader.follow(story.id, live.id, 0, check=lambda: None):
                pass
        assert live.task is not None
        await live.task
        return [one.kind for one in live.events]

    assert asyncio.run(run(is_read=True)) == ["stream", *["delta"] * 20, "done"]
    assert asyncio.run(run(is_read=False))[-1] == "stopped"


def test_a_reader_of_another_process_leaves_in_good_order_when_its_own_server_stops(
    workspace: Workspace, story: ProjectHandle
) -> None:
    async def speak() -> AsyncGenerator[object, None]:
        while True:
            await asyncio.sleep(0.1)
            yield {}

    async def run() -> list[bytes]:
        writer, reader = StreamHub(workspace), StreamHub(workspace)
        live = await start(writer, story, speak())
        told = []
        async for event in reader.follow(story.id, live.id, 0, check=lambda: None):
            told.append(event)
            if b"delta" in event:
                await reader.close()
        assert not live.has_ended
        await writer.close()
        return told

    told = asyncio.run(asyncio.wait_for(run(), 30))
    assert b"event: delta" in told[-1]  # so that whoever comes back elsewhere goes on


def test_a_reader_of_another_process_waits_for_a_database_that_is_restarted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabula.server.streams.LOST_SECONDS", 120.0)
    with (
        run_postgres() as postgres,
        Workspace.open(postgres.get_uri()) as workspace,
        run_server(workspace) as server,
        server.client() as client,
    ):
        project, log = workspace.create_project("Harbour"), workspace.responses
        stream = log.begin_stream(project.id, LOCAL_USER, "chat.send")
        log.append(project.id, stream, [StreamEvent(1, "stream", "{}"), StreamEvent(2, "delta", "{}")])
        with client.stream("GET", f"/api/projects/{project.id}/streams/{stream}") as answer:
            told = read_events(answer)
            assert [next(told)[1], next(told)[1]] == ["stream", "delta"]
            postgres.stop()
            time.sleep(1)
            postgres.ensure_postgres_running()
            while True:
                with suppress(FabulaError):
                    log.append(project.id, stream, [StreamEvent(3, "done", "{}")], ended=True)
                    break
            assert [kind for _, kind, _ in told] == ["done"]


def test_a_reader_of_another_process_does_not_wait_for_ever_for_a_store_that_is_away(
    workspace: Workspace, story: ProjectHandle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabula.server.streams.LOST_SECONDS", 0.5)
    stream = workspace.responses.begin_stream(story.id, LOCAL_USER, "chat.send")

    async def run() -> list[bytes]:
        with Workspace.open(tmp_path / "data") as other:
            reader = StreamHub(other)
            other.store.close()
            return [one async for one in reader.follow(story.id, stream, 0, check=lambda: None)]

    assert asyncio.run(asyncio.wait_for(run(), 30)) == []


def test_a_writer_without_events_is_not_taken_for_gone(
    workspace: Workspace, story: ProjectHandle, talk: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabula.server.streams.LOST_SECONDS", 1.5)
    monkeypatch.setattr("fabula.server.streams.ALIVE_SECONDS", 0.2)
    thinking = ScriptedProvider(lambda *_: "Aye.")

    async def think(call: ModelCall) -> AsyncGenerator[ModelEvent, None]:
        await asyncio.sleep(4)
        async for event in ScriptedProvider.stream(thinking, call):
            yield event

    monkeypatch.setattr(thinking, "stream", think)
    with (
        run_server(workspace, model=thinking) as server,
        Workspace.open(tmp_path / "data") as other,
        run_server(other) as elsewhere,
        server.client() as writer,
        elsewhere.client() as reader,
        writer.stream("POST", f"{talk}/send", json={"text": "Hello"}) as first,
        reader.stream("GET", first.headers["location"]) as second,
    ):
        assert [kind for _, kind, _ in read_events(second)][-1] == "done"


@pytest.mark.parametrize(
    ("change", "code"),
    [("revoke", "ACCESS_REQUIRED"), ("remove", "PROJECT_NOT_FOUND"), ("reader", "CONTEXT_NOT_ALLOWED")],
)
@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_a_stream_ends_for_writer_and_reader_once_the_caller_may_not_go_on(
    workspace: Workspace,
    story: ProjectHandle,
    talk: str,
    monkeypatch: pytest.MonkeyPatch,
    change: str,
    code: str,
    *,
    is_elsewhere: bool,
) -> None:
    monkeypatch.setattr("fabula.server.streams.CHECK_SECONDS", 0.0)
    monkeypatch.setattr("fabula.server.accounts.REMEMBERED_SECONDS", 0.0)
    people = workspace.people
    people.add("ann")
    people.set_role("ann", story.id, "editor")
    writing, reading = (people.create_key(label, person="ann") for label in ("writing", "reading"))
    endless = ScriptedProvider(lambda *_: "word " * 1_000_000)
    with (
        run_server(workspace, model=endless) as server,
        run_server(workspace) as elsewhere,
        server.client(writing.secret) as writer,
        (elsewhere if is_elsewhere else server).client(reading.secret) as reader,
        writer.stream("POST", f"{talk}/send", json={"text": "Hello"}) as first,
        reader.stream("GET", first.headers["location"]) as second,
    ):
        told = read_events(second)
        assert next(kind for _, kind, _ in told if kind == "delta")
        if change == "revoke":
            for key in (reading, writing):
                people.revoke_key(key.key.id)
        elif change == "remove":
            people.remove_role("ann", story.id)
        else:
            people.set_role("ann", story.id, change)
        for events in (read_events(first), told):
            *_, (_, kind, data) = events
            assert (kind, data["code"]) == ("problem", code)
        stream, ends = first.headers["location"].rpartition("/")[2], time.monotonic() + 20
        while (read := workspace.responses.read_stream(story.id, stream))[0].state != "ended":
            assert time.monotonic() < ends
            time.sleep(0.05)
    assert read[1][-1].kind == "problem"


def test_a_stream_is_followed_and_stopped_with_the_right_of_the_request_that_began_it(
    workspace: Workspace, story: ProjectHandle, talk: str
) -> None:
    workspace.people.add("ann")
    workspace.people.set_role("ann", story.id, "editor")
    limits = {"whole": {}, "search": {"verbs": ["project.search"]}, "read": {"rights": ["read"]}}
    limits |= {"send": {"verbs": ["chat.send"]}, "write": {"verbs": ["project.write"]}, "play": {"rights": ["play"]}}
    keys = {label: workspace.people.create_key(label, person="ann", **one).secret for label, one in limits.items()}
    endless = ScriptedProvider(lambda *_: "word " * 1_000_000)
    with (
        run_server(workspace, model=endless) as server,
        server.client(keys["whole"]) as whole,
        whole.stream("POST", f"{talk}/send", json={"text": "Hello"}) as first,
    ):
        location = first.headers["location"]
        for label in ("search", "read", "write"):
            with server.client(keys[label]) as key:
                for method in ("GET", "DELETE"):
                    refused = key.request(method, location)
                    assert (refused.status_code, refused.json()["code"]) == (403, "CONTEXT_NOT_ALLOWED")
        with server.client(keys["send"]) as key, key.stream("GET", location) as second:
            assert next(kind for _, kind, _ in read_events(second) if kind == "delta")
        with server.client(keys["play"]) as key:
            assert key.delete(location).status_code == 204
        assert [kind for _, kind, _ in read_events(first)][-1] == "stopped"


def test_the_stream_of_another_person_is_not_found(
    workspace: Workspace, story: ProjectHandle, server: RunningServer
) -> None:
    stream = workspace.responses.begin_stream(story.id, "somebody", "chat.send")
    with server.client() as client:
        own = client.get(f"/api/projects/{story.id}/streams/{stream}")
        none = client.get(f"/api/projects/{story.id}/streams/nothing")
        assert own.status_code == none.status_code == 404
        assert client.delete(f"/api/projects/{story.id}/streams/{stream}").status_code == 404


def test_the_stream_of_a_foreign_project_is_refused_as_one_that_does_not_exist(
    workspace: Workspace, story: ProjectHandle
) -> None:
    stream = workspace.responses.begin_stream(story.id, "ann", "chat.send")
    people = {"ann": Access(user="ann")}
    with run_server(workspace, people) as server, server.client("ann") as ann:
        foreign, absent = (f"/api/projects/{one}/streams/{stream}" for one in (story.id, "nowhere"))
        assert ann.get(foreign).status_code == 404
        assert ann.get(foreign).content == ann.get(absent).content
        assert ann.delete(foreign).status_code == 404


def test_a_refusal_before_the_first_event_is_a_problem_and_one_behind_it_an_event(
    client: httpx2.Client, story: ProjectHandle, talk: str
) -> None:
    assert client.post(f"{talk}/send", json={"txet": "Hello"}).status_code == 400
    with client.stream("POST", f"/api/projects/{story.id}/chats/nothing/send", json={"text": "Hello"}) as answer:
        events = list(read_events(answer))
    assert (events[-1][1], events[-1][2]["code"]) == ("problem", "STORE_NOT_FOUND")


@pytest.mark.parametrize(
    ("header", "number"), [("a.3", 3), ("", 0), ("b.3", 0), ("a.x", 0), ("a.-1", 0), ("a." + "9" * 50, 0), ("a", 0)]
)
def test_an_id_that_no_stream_has_begins_anew(header: str, number: int) -> None:
    assert read_last_event(header, "a") == number


@pytest.mark.parametrize(("has_end", "last"), [(False, ("stopped", {"reason": "shutdown"})), (True, ("done", {}))])
def test_a_server_that_is_told_to_stop_finishes_streams_or_says_that_they_were_stopped(
    workspace: Workspace, talk: str, monkeypatch: pytest.MonkeyPatch, has_end: bool, last: tuple[str, dict[str, str]]
) -> None:
    model = ScriptedProvider(lambda *_: "word " * 300)

    async def speak(call: ModelCall) -> AsyncGenerator[ModelEvent, None]:
        async for event in ScriptedProvider.stream(model, call):
            if isinstance(event, StreamEnd) and not has_end:
                await asyncio.Event().wait()
            yield event

    monkeypatch.setattr(model, "stream", speak)
    monkeypatch.setattr("fabula.server.serving.make_app", partial(make_app, model=model))
    monkeypatch.setattr("fabula.server.serving.STREAM_SECONDS", 60.0 if has_end else 1.0)
    with open_socket("127.0.0.1", 0) as opened, ThreadPoolExecutor(1) as pool:
        server = ProcessServer(workspace, host="127.0.0.1", token=OWNER_TOKEN)
        url = f"http://127.0.0.1:{opened.getsockname()[1]}{talk}/send"
        headers = {"Authorization": f"Bearer {OWNER_TOKEN}"}

        def read() -> list[Event]:
            try:
                with httpx2.stream("POST", url, json={"text": "Hello"}, headers=headers, timeout=90) as answer:
                    events = read_events(answer)
                    seen = [next(events) for _ in range(8)]
                    server.should_exit = True
                    return [*seen, *events]
            finally:
                server.should_exit = True

        reading = pool.submit(read)
        server.run(sockets=[opened])
        assert reading.result()[-1][1:] == last
