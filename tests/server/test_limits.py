"""Limits: few prompts of one document at once, rates by address and caller, and few tries with unknown keys."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, MutableMapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.context import Fragment, FunctionSource, View
from fabula.context.request import SourceRequest
from fabula.core.errors import Code, FabulaError
from fabula.manuscript import Manuscript
from fabula.server.access import OWNER_ACCESS, Access
from fabula.server.accounts import Accounts
from fabula.server.limits import (
    LOOPBACK_FACTOR,
    MAX_BUCKETS,
    MAX_TRIES,
    OPEN_SECONDS,
    PASSWORDS_AT_ONCE,
    PASSWORDS_WAITING,
    OpenLimits,
    OpenRequests,
    RateSettings,
    RequestRates,
    TokenBuckets,
    read_open_limits,
    read_rates,
)
from fabula.server.security import SecurityMiddleware
from fabula.workspace.account import AccountVerbs
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import open_read_only
from fabula.workspace.workspace import Workspace
from tests.blank import lay
from tests.server.running import run_server
from tests.server.test_events import wait_until


class Gate:
    """A source that holds every assembly of the first chapter until it is opened."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.entered = threading.Semaphore(0)

    def fragments(self, asked: SourceRequest, view: View) -> list[Fragment]:
        if asked.request.document_id == "ch-01":
            self.entered.release()
            self.opened.wait(30)
        return []


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.opened.set()


def test_the_twenty_first_prompt_of_a_document_is_refused_and_other_documents_are_not_kept_waiting(
    tmp_path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABULA_SOURCE_SECONDS", "30")
    source = FunctionSource(name="gate", function=gate.fragments)
    with Workspace.open(lay(tmp_path / "data"), sources=[source]) as workspace:
        story = workspace.copy_project(open_read_only("sample:lantern_coast").view)
        url = f"/api/projects/{story.id}/assemble"
        asked = {"projectId": story.id, "documentId": "ch-01", "cursorPosition": 40}
        with run_server(workspace) as server, server.client() as client, ThreadPoolExecutor(21) as pool:
            names = ["ch-01", "1", story.view.snapshots[Manuscript].by_id["ch-01"].title]  # of one document
            calls = [pool.submit(client.post, url, json={**asked, "documentId": names[n % 3]}) for n in range(21)]
            for _ in range(4):
                assert gate.entered.acquire(timeout=30)
            refused = next(as_completed(calls, 30)).result()
            assert (refused.status_code, refused.json()["code"]) == (429, "CONTEXT_BACKPRESSURE")
            assert int(refused.headers["retry-after"]) >= 1
            assert client.post(url, json={**asked, "documentId": "ch-02"}).status_code == 200
            gate.opened.set()
            assert sorted(one.result().status_code for one in calls) == [200] * 20 + [429]


def test_a_compressed_body_is_refused_before_anybody_unpacks_it(client: httpx2.Client) -> None:
    for encoding in ("gzip", "deflate", "br", "zstd", "gzip, gzip"):
        refused = client.post("/api/projects", content=b"\x1f\x8b" * 10, headers={"Content-Encoding": encoding})
        assert (refused.status_code, refused.json()["code"]) == (415, "HTTP_CONTENT_ENCODING")
    assert client.get("/api/projects", headers={"Content-Encoding": "identity"}).status_code == 200


@given(
    st.lists(st.tuples(st.floats(0, 5), st.sampled_from("ab")), max_size=200), st.floats(0.5, 20), st.integers(1, 30)
)
def test_a_bucket_gives_no_more_than_its_size_and_its_rate(
    steps: list[tuple[float, str]], rate: float, size: int
) -> None:
    now = [0.0]
    buckets = TokenBuckets(rate, size, clock=lambda: now[0])
    taken = {"a": 0, "b": 0}
    for wait, key in steps:
        now[0] += wait
        seconds = buckets.take(key)
        taken[key] += not seconds
        if seconds:
            now[0] += seconds * 1.001 + 1e-6
            assert buckets.take(key) == 0  # as it was told
            taken[key] += 1
    assert all(count <= size + rate * now[0] + 1e-6 for count in taken.values())


def test_buckets_of_many_addresses_take_a_bounded_memory() -> None:
    buckets = TokenBuckets(1, 1)
    for number in range(3 * MAX_BUCKETS):
        buckets.take(str(number))
    assert len(buckets) == MAX_BUCKETS


class Asker:
    """Asks the middleware directly, as somebody at any address."""

    def __init__(self, accounts: Accounts, rates: RateSettings, clock: list[float]) -> None:
        async def answer(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        self.middleware = SecurityMiddleware(answer, accounts)
        self.middleware._rates = RequestRates(rates, clock=lambda: clock[0])

    async def ask(
        self, token: str, address: str = "10.0.0.1", *, call: tuple[str, str] = ("GET", "/api")
    ) -> tuple[int, str, dict[bytes, bytes]]:
        sent: list[MutableMapping[str, Any]] = []

        async def send(event: MutableMapping[str, Any]) -> None:
            sent.append(event)

        async def receive() -> MutableMapping[str, Any]:
            return {"type": "http.request", "body": b""}

        headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {token}".encode())]
        scope = {"type": "http", "method": call[0], "path": call[1], "headers": headers, "client": (address, 1)}
        await self.middleware(scope, receive, send)
        body = sent[1]["body"]
        return sent[0]["status"], msgspec.json.decode(body)["code"] if body else "", dict(sent[0]["headers"])


def test_a_customer_with_many_addresses_does_not_fill_the_log(
    workspace: Workspace, caplog: pytest.LogCaptureFixture
) -> None:
    asker = Asker(Accounts(workspace.store, {}), RateSettings(), [0.0])

    async def run() -> None:
        for number in range(100):
            assert (await asker.ask("nobody", f"2001:db8::{number:x}"))[0] in (401, 429)

    with caplog.at_level("WARNING", "fabula.security"):
        asyncio.run(run())
    assert 20 <= sum("refused: " in one for one in caplog.messages) < 30


def test_whoever_sends_too_many_requests_is_told_when_to_come_back(workspace: Workspace) -> None:
    clock = [0.0]
    accounts = Accounts(workspace.store, {"one": OWNER_ACCESS, "two": OWNER_ACCESS})
    asker = Asker(accounts, RateSettings(for_caller=1, for_address=2), clock)

    async def run() -> None:
        for _ in range(10):
            assert (await asker.ask("one"))[0] == 200
        status, code, headers = await asker.ask("one")
        assert (status, code, headers[b"retry-after"]) == (429, "HTTP_TOO_MANY_REQUESTS", b"1")
        assert (await asker.ask("two"))[0] == 200
        for _ in range(8):
            await asker.ask("two")
        assert (await asker.ask("two"))[:2] == (429, "HTTP_TOO_MANY_REQUESTS")  # the address has no more
        assert (await asker.ask("two", "10.0.0.2"))[0] == 200
        for _ in range(50):
            assert (await asker.ask("one", "127.0.0.1"))[0] == 200  # from this machine
        clock[0] += 1
        assert (await asker.ask("one"))[0] == 200

    asyncio.run(run())


def test_processes_of_one_server_share_its_rates() -> None:
    half = RateSettings(for_caller=2, for_address=1e6, share=0.5)
    processes = [RequestRates(half, clock=lambda: 0.0) for _ in range(2)]
    for rates in processes:
        for _ in range(10):  # together as many as one process has
            rates.count_caller("ann", "10.0.0.1")
        with pytest.raises(FabulaError):
            rates.count_caller("ann", "10.0.0.1")
        for _ in range(MAX_TRIES // 2):
            rates.count_try("10.0.0.1")
        with pytest.raises(FabulaError):
            rates.count_try("10.0.0.1")
    assert (read_rates(4).share, read_rates().share) == (0.25, 1.0)


def test_a_million_keys_are_not_looked_for(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace.people.add("ann", password="correct horse")
    key = workspace.people.create_key("script", person="ann").secret
    clock = [0.0]
    accounts = Accounts(workspace.store, {"one": OWNER_ACCESS}, clock=lambda: clock[0])
    asker = Asker(accounts, RateSettings(for_caller=1e6, for_address=1e6), clock)
    looked: list[str] = []
    load = accounts.load

    def note(secret: str) -> Any:
        looked.append(secret)
        return load(secret)

    monkeypatch.setattr(accounts, "load", note)

    async def run() -> None:
        assert (await asker.ask(key))[0] == 200
        statuses = [
            (await asker.ask(f"fabula-{number:020x}-{'x' * 43}" if number % 2 else f"guess {number}"))[0]
            for number in range(5_000)
        ]
        assert statuses.count(401) == MAX_TRIES - 1
        assert statuses.count(429) == 5_000 - MAX_TRIES + 1
        assert len(looked) <= MAX_TRIES
        clock[0] += 0.01
        assert (await asker.ask("one"))[0] == 200
        assert (await asker.ask(key))[0] == 200  # whoever was in before stays in
        clock[0] += 6
        assert (await asker.ask(key))[0] == 200

    asyncio.run(run())


def test_passwords_of_one_address_are_tried_as_seldom_as_keys(workspace: Workspace) -> None:
    clock = [0.0]
    asker = Asker(Accounts(workspace.store, {"one": OWNER_ACCESS}), RateSettings(), clock)
    sign_in = ("POST", "/api/session")

    async def run() -> None:
        for _ in range(MAX_TRIES):
            assert (await asker.ask("", call=sign_in))[0] == 200
        status, code, headers = await asker.ask("", call=sign_in)
        assert (status, code, headers[b"retry-after"]) == (429, "ACCESS_TOO_MANY_TRIES", b"1")
        assert (await asker.ask("", "10.0.0.2", call=sign_in))[0] == 200
        assert (await asker.ask("one"))[0] == 200  # who is in stays in
        clock[0] += 1
        assert (await asker.ask("", call=sign_in))[0] == 200

    asyncio.run(run())


def test_few_passwords_are_checked_at_once_and_nobody_else_waits_for_them(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, running, counts = threading.Event(), threading.Semaphore(0), list[int]()

    def check(account: str, password: str, *, address: str) -> None:
        counts.append(1)
        running.release()
        opened.wait(30)

    most = PASSWORDS_AT_ONCE + PASSWORDS_WAITING
    body = {"account": "ann", "password": "wrong horse"}
    with run_server(workspace) as server, server.client() as client, ThreadPoolExecutor(most + 5) as pool:
        monkeypatch.setattr(server.accounts, "sign_in", check)
        calls = [pool.submit(client.post, "/api/session", json=body) for _ in range(most + 5)]
        try:
            for _ in range(PASSWORDS_AT_ONCE):
                assert running.acquire(timeout=30)
            ended = as_completed(calls, 30)
            refused = [next(ended).result() for _ in range(5)]
            assert {(one.status_code, one.json()["code"]) for one in refused} == {(429, "HTTP_TOO_MANY_REQUESTS")}
            assert all(int(one.headers["retry-after"]) >= 1 for one in refused)
            assert len(counts) == PASSWORDS_AT_ONCE
            assert client.get("/api/projects").status_code == 200
        finally:
            opened.set()
        assert sorted(one.result().status_code for one in calls) == [401] * most + [429] * 5


def test_few_own_passwords_are_changed_at_once(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, running, counts = threading.Event(), threading.Semaphore(0), list[int]()

    def set_password(*_: object, **__: object) -> None:
        counts.append(1)
        running.release()
        opened.wait(30)

    monkeypatch.setattr(AccountVerbs, "set_password", set_password)
    most = PASSWORDS_AT_ONCE + PASSWORDS_WAITING
    body = {"password": "a longer one", "oldPassword": "a long one"}
    ann = {"ann": Access(user="ann")}
    with run_server(workspace, ann) as server, server.client("ann") as client, ThreadPoolExecutor(most + 5) as pool:
        calls = [pool.submit(client.put, "/api/account/password", json=body) for _ in range(most + 5)]
        try:
            for _ in range(PASSWORDS_AT_ONCE):
                assert running.acquire(timeout=30)
            ended = as_completed(calls, 30)
            refused = [next(ended).result() for _ in range(5)]
            assert {(one.status_code, one.json()["code"]) for one in refused} == {(429, "HTTP_TOO_MANY_REQUESTS")}
            assert len(counts) == PASSWORDS_AT_ONCE
            assert client.get("/api/account").status_code in (200, 404)  # others wait for none of them
        finally:
            opened.set()
        assert sorted(one.result().status_code for one in calls) == [204] * most + [429] * 5


def test_wrong_keys_take_a_bounded_memory(workspace: Workspace) -> None:
    accounts = Accounts(workspace.store, {})
    for number in range(1_200):
        assert accounts.find_access(f"{number:043d}") is None
    assert len(accounts._refused) <= 1_000
    assert not accounts._remembered


def test_the_store_is_asked_once_for_a_key_that_many_requests_have(workspace: Workspace) -> None:
    key = workspace.people.create_key("script").secret
    accounts = Accounts(workspace.store, {})
    asker = Asker(accounts, RateSettings(), [0.0])
    threads: list[str] = []
    load = accounts.load

    def note(secret: str) -> Any:
        threads.append(threading.current_thread().name)
        return load(secret)

    accounts.load = note  # type: ignore[method-assign]

    async def run() -> None:
        answers = await asyncio.gather(*(asker.ask(key) for _ in range(40)))
        assert {one[0] for one in answers} == {200}

    asyncio.run(run())
    assert len(threads) == 1
    assert threading.main_thread().name not in threads


def is_open(requests: OpenRequests, person: str | None, address: str = "10.0.0.1") -> bool:
    with suppress(FabulaError), requests.hold(person, address):
        return True
    with pytest.raises(FabulaError) as refused, requests.hold(person, address):
        pass
    return refused.value.code is not Code.HTTP_TOO_MANY_OPEN


def test_one_person_and_one_address_have_few_requests_open_at_once() -> None:
    requests = OpenRequests(OpenLimits(for_person=2, for_address=3))
    with ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(requests.hold("ann", "10.0.0.1"))
        assert not is_open(requests, "ann")
        assert not is_open(requests, "ann", "10.0.0.2")  # the same person from elsewhere
        assert is_open(requests, "ann", "127.0.0.1")  # where there may be more
        with requests.hold("bo", "10.0.0.1"):
            assert not is_open(requests, "cleo")  # the address has no more
            assert not is_open(requests, None)
            assert is_open(requests, "cleo", "10.0.0.2")
        assert is_open(requests, "cleo")
    assert is_open(requests, "ann")
    assert len(requests) == 0  # nothing is remembered of whoever has nothing open


def test_a_program_of_this_machine_may_have_many_streams_and_processes_share_the_bounds() -> None:
    limits = read_open_limits()
    assert limits.count(limits.for_person, "127.0.0.1") == 100 * LOOPBACK_FACTOR >= 1_200
    half = read_open_limits(2)
    assert [half.count(most, "10.0.0.1") for most in (half.for_person, half.for_address, half.connections)] == [
        50,
        200,
        400,
    ]


def test_a_stream_counts_until_it_is_closed(
    workspace: Workspace, story: ProjectHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabula.server.limits.LOOPBACK_FACTOR", 1)
    monkeypatch.setenv("FABULA_OPEN_REQUESTS", "2")
    url = f"/api/projects/{story.id}/events"
    with run_server(workspace) as server, server.client() as client:
        with client.stream("GET", url) as first, client.stream("GET", url) as second:
            assert (first.status_code, second.status_code) == (200, 200)
            refused = client.get("/api/projects")
            assert (refused.status_code, refused.json()["code"]) == (429, "HTTP_TOO_MANY_OPEN")
            assert refused.headers["retry-after"] == str(OPEN_SECONDS)
            assert client.get("/healthz").status_code == 200
        wait_until(lambda: client.get("/api/projects").status_code == 200)


def test_one_address_has_few_connections_and_a_trusted_proxy_any_number(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabula.server.limits.LOOPBACK_FACTOR", 1)
    monkeypatch.setenv("FABULA_ADDRESS_CONNECTIONS", "2")
    with run_server(workspace) as server, ExitStack() as stack:
        clients = [stack.enter_context(server.client()) for _ in range(3)]
        answers = [one.get("/healthz") for one in clients]
        assert [one.status_code for one in answers] == [200, 200, 429]
        assert (answers[2].json()["code"], answers[2].headers["retry-after"]) == ("HTTP_TOO_MANY_OPEN", "5")
        clients[0].close()
        wait_until(lambda: clients[2].get("/healthz").status_code == 200)
    monkeypatch.setenv("FABULA_TRUSTED_PROXIES", "127.0.0.1")
    with run_server(workspace) as server, ExitStack() as stack:
        clients = [stack.enter_context(server.client()) for _ in range(4)]
        assert [one.get("/healthz").status_code for one in clients] == [200] * 4
