"""Connections: slow senders, slow readers and long headers are refused with a code, and those who go on are served."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import AsyncGenerator, Iterable

import msgspec
import pytest

from fabula.llm.model import ModelCall, StreamEvent, TextChunk
from fabula.server import connections
from fabula.server.logs import write_logs
from fabula.server.security import SECURITY_HEADERS
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.server.running import OWNER_TOKEN, RunningServer, run_server
from tests.workspace.chat.scripted import ScriptedProvider

HEAD = f"Host: localhost\r\nAuthorization: Bearer {OWNER_TOKEN}\r\nContent-Type: application/json\r\n".encode()


@pytest.fixture(autouse=True)
def short_times(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEADER_SECONDS", "INTERVAL_SECONDS", "REST_SECONDS"):
        monkeypatch.setattr(connections, name, 0.4)


class EndlessProvider(ScriptedProvider):
    """Says short words one by one, and never comes to its end, nor to the bound of an answer."""

    async def stream(self, call: ModelCall) -> AsyncGenerator[StreamEvent, None]:
        while True:
            await asyncio.sleep(0.002)
            yield TextChunk("a ")


def connect(server: RunningServer) -> socket.socket:
    host, _, port = server.base_url.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=20)


def exchange(server: RunningServer, parts: Iterable[bytes], pause: float = 0.0) -> bytes:
    """Send parts, one after the other, until the server has enough; return all that it says."""
    with connect(server) as opened:
        try:
            for part in parts:
                opened.sendall(part)
                time.sleep(pause)
        except OSError:
            pass  # it is ended already
        return read_all(opened)


def read_all(opened: socket.socket) -> bytes:
    found = b""
    try:
        while part := opened.recv(65_536):
            found += part
    except ConnectionError:
        pass
    return found


def read_problem(answer: bytes) -> tuple[int, str]:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head
    return int(head.split()[1]), msgspec.json.decode(body)["code"]


def split(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


def test_headers_of_one_byte_now_and_then_are_not_waited_for(server: RunningServer) -> None:
    answer = exchange(server, split(b"GET /healthz HTTP/1.1\r\n" + HEAD), 0.05)
    assert read_problem(answer) == (408, "HTTP_TOO_SLOW")


def test_a_body_of_one_byte_now_and_then_is_not_waited_for(server: RunningServer) -> None:
    start = b"POST /api/projects HTTP/1.1\r\n" + HEAD + b"Content-Length: 5000\r\n\r\n"
    answer = exchange(server, [start, *split(b"{" * 50)], 0.05)
    assert read_problem(answer) == (408, "HTTP_TOO_SLOW")


def test_a_chunked_body_of_one_byte_now_and_then_is_not_waited_for(server: RunningServer) -> None:
    start = b"POST /api/projects HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    answer = exchange(server, [start, *[b"1\r\n \r\n"] * 50], 0.05)
    assert read_problem(answer) == (408, "HTTP_TOO_SLOW")


def test_a_silent_connection_is_closed(server: RunningServer) -> None:
    assert exchange(server, []) == b""


def test_a_body_that_goes_on_is_waited_for(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MIN_BYTES", 2)
    body = b'{"title": "A slow one"}'
    start = b"POST /api/projects HTTP/1.1\r\n" + HEAD + f"Content-Length: {len(body)}\r\n".encode()
    answer = exchange(server, [start + b"Connection: close\r\n\r\n", *split(body)], 0.06)
    assert answer.startswith(b"HTTP/1.1 201")


def test_an_endless_body_behind_a_refusal_is_not_read_for_ever(server: RunningServer) -> None:
    start = b"POST /api/projects HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000000000\r\n\r\n"
    with connect(server) as opened:
        opened.sendall(start)
        assert b"ACCESS_REQUIRED" in opened.recv(65_536)
        for _ in range(2_000):
            try:
                opened.sendall(b" " * 100_000)
            except ConnectionError:
                return
            time.sleep(0.01)
    raise AssertionError("all of it was read")


@pytest.mark.parametrize(
    "parts",
    [
        [b"GET /healthz HTTP/1.1\r\n", HEAD, *(b"X-%d: y\r\n" % number for number in range(200)), b"\r\n"],
        [b"GET /healthz HTTP/1.1\r\n", HEAD, b"X-Long: " + b"y" * 40_000 + b"\r\n\r\n"],
        [b"GET /healthz HTTP/1.1\r\nX-Endless: ", *[b"y" * 10_000] * 100],
        [b"GET /" + b"y" * 40_000 + b" HTTP/1.1\r\n", HEAD, b"\r\n"],
        [b"GET /healthz?" + b"y" * 40_000 + b" HTTP/1.1\r\n", HEAD, b"\r\n"],
    ],
)
def test_too_many_or_too_long_headers_are_refused(server: RunningServer, parts: list[bytes]) -> None:
    assert read_problem(exchange(server, parts)) == (431, "HTTP_HEADERS_TOO_LARGE")


@pytest.mark.parametrize(
    "sent",
    [
        b"hello\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00" * 20,
        b"GET /healthz HTTP/9.9\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n",
        b"POST /api HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /api HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"CONNECT evil.example:80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)
def test_what_is_no_request_is_refused_with_a_code(server: RunningServer, sent: bytes) -> None:
    answer = exchange(server, [sent])
    assert read_problem(answer) == (400, "CONTEXT_REQUEST_INVALID")
    for name, value in SECURITY_HEADERS.items():
        assert f"\r\n{name}: {value}\r\n".encode() in answer


def test_what_is_no_request_cannot_fill_the_log(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ours, theirs = logging.getLogger("fabula"), logging.getLogger("uvicorn.error")
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    monkeypatch.setattr(theirs, "filters", [])
    level = ours.level
    try:
        write_logs()
    finally:
        ours.setLevel(level)
    assert exchange(server, [b"hello\r\n\r\n"])
    theirs.warning("something else")
    written = capsys.readouterr().err
    assert "something else" in written
    assert "Invalid HTTP" not in written


def test_requests_that_are_sent_one_behind_the_other_are_all_answered(server: RunningServer) -> None:
    one = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
    answer = exchange(server, [(one + b"\r\n") * 5 + one + b"Connection: close\r\n\r\n"])
    assert answer.count(b"HTTP/1.1 200") == 6


def test_a_keep_alive_connection_is_used_again_after_its_headers_were_counted(server: RunningServer) -> None:
    sent = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 20_000 + b"\r\n\r\n"
    with connect(server) as opened:
        for _ in range(4):
            opened.sendall(sent)
            assert opened.recv(65_536).startswith(b"HTTP/1.1 200")


def test_a_client_that_stops_reading_a_stream_is_let_go(
    workspace: Workspace, story: ProjectHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabula.server.streams.LINGER_SECONDS", 0.1)
    story.participants.add("Bo", persona="A pilot.")
    talk = story.chat.start(["Bo"]).record.id
    endless = EndlessProvider()
    made = connections.BoundedProtocol.connection_made

    def make_small(self: connections.BoundedProtocol, transport: asyncio.Transport) -> None:
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
        made(self, transport)

    monkeypatch.setattr(connections.BoundedProtocol, "connection_made", make_small)
    body = b'{"text": "Hello"}'
    path = f"/api/projects/{story.id}/chats/{talk}/send"
    start = f"POST {path} HTTP/1.1\r\n".encode() + HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode() + body
    with run_server(workspace, model=endless) as server, connect(server) as opened:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        opened.sendall(start)
        head = opened.recv(2_000).decode()
        location = next(line for line in head.splitlines() if line.startswith("location: "))
        stream = location.rpartition("/")[2]
        for _ in range(600):
            record, events = workspace.responses.read_stream(story.id, stream)
            if record.state == "ended":
                break
            time.sleep(0.05)
    assert [one.kind for one in events][-1] == "stopped"


def test_a_long_answer_that_is_read_slowly_arrives(
    server: RunningServer, story: ProjectHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MIN_BYTES", 1_000)
    story.codex.add("Long", description="x" * 100)
    with server.client() as client:
        whole = client.get(f"/api/projects/{story.id}/save").content
    with connect(server) as opened:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        path = f"/api/projects/{story.id}/save"
        opened.sendall(f"GET {path} HTTP/1.1\r\n".encode() + HEAD + b"Connection: close\r\n\r\n")
        found = b""
        while part := opened.recv(20_000):
            found += part
            time.sleep(0.02)
    assert len(found.partition(b"\r\n\r\n")[2]) > len(whole) * 0.9


def test_a_request_with_two_hosts_is_refused(server: RunningServer) -> None:
    head = b"GET /healthz HTTP/1.1\r\nHost: localhost:80\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    answer = exchange(server, [head])
    assert b"421" in answer.partition(b"\r\n")[0]
    assert b"ACCESS_HOST_REFUSED" in answer
