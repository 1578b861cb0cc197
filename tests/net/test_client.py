"""The HTTP client: guarded addresses, bounded answers, and requests from any thread."""

from __future__ import annotations

import asyncio
import gzip
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from fabula.net.client import HttpPolicy, post
from fabula.net.errors import AddressRefusedError, AnswerRefusedError, ProxyRefusedError
from tests.llm.server import Exchange, ModelServer, error_answer, run_server
from tests.net.proxy import clear_proxies, run_proxy

HEADERS = {"Content-Type": "application/json"}


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    clear_proxies(monkeypatch)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with run_server() as running:
        running.script = answer_with(b'{"ok": true}')
        yield running


def answer_with(body: bytes, **headers: str) -> Any:
    async def script(exchange: Exchange) -> None:
        await exchange.send_head(200, headers.pop("kind", "application/json"), **headers)
        await exchange.send(body)

    return script


def send(url: str, *, headers: dict[str, str] = HEADERS, seconds: float = 5.0, **policy: Any) -> tuple[int, bytes]:
    return post(
        HttpPolicy(base_url=url, **{"max_bytes": 10_000, **policy}), "/x", b"{}", headers, total_seconds=seconds
    )


def resolve_to(monkeypatch: pytest.MonkeyPatch, *answers: str) -> list[str]:
    """Let the name models.example resolve to one address after the other; returns the hosts that were asked for."""
    real, asked = socket.getaddrinfo, []

    def resolve(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        if host != "models.example":
            return real(host, port, *rest, **more)
        asked.append(host)
        address = answers[min(len(asked), len(answers)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return asked


def test_an_answer_comes_with_its_status(server: ModelServer) -> None:
    assert send(server.url) == (200, b'{"ok": true}')
    assert server.exchanges[0].path == "/v1/x"
    server.script = error_answer(503)
    assert send(server.url) == (503, b"")


def test_the_connection_goes_to_the_address_that_was_checked(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = resolve_to(monkeypatch, "127.0.0.1", "169.254.169.254")
    url = f"http://models.example:{server.port}/v1"
    assert send(url)[0] == 200
    assert len(asked) == 1  # a second lookup could return another address than the checked one
    with pytest.raises(AddressRefusedError, match="secrets"):
        send(url)
    assert len(server.exchanges) == 1


def test_redirects_are_not_followed(server: ModelServer) -> None:
    with run_server() as elsewhere:
        server.script = error_answer(307, location=f"{elsewhere.url}/x")
        assert send(server.url) == (307, b"")
        assert not elsewhere.exchanges


def test_only_allowed_headers_are_sent(server: ModelServer) -> None:
    send(server.url, headers={**HEADERS, "Authorization": "Bearer key", "X-Other": "secret", "Cookie": "secret"})
    sent = server.exchanges[0].headers
    assert sent["authorization"] == "Bearer key"
    assert sent["accept-encoding"] == "identity"
    assert "secret" not in str(sent)


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        (answer_with(b" " * 10_001), "an answer that is too long"),
        (answer_with(gzip.compress(b" " * 50_000), content_encoding="gzip"), "a compressed answer"),
        (answer_with(b"<html></html>", kind="text/html; charset=utf-8"), "a page of the type text/html"),
    ],
)
def test_an_answer_out_of_bounds_is_refused(server: ModelServer, script: Any, problem: str) -> None:
    server.script = script
    with pytest.raises(AnswerRefusedError) as refusal:
        send(server.url)
    assert str(refusal.value.problem) == problem


def test_a_line_may_have_a_bound_of_its_own(server: ModelServer) -> None:
    server.script = answer_with(b"x" * 60 + b"\n" + b"x" * 60)
    assert send(server.url, max_line_bytes=100)[0] == 200
    with pytest.raises(AnswerRefusedError):
        send(server.url, max_line_bytes=50)


def test_a_key_needs_https_outside_the_local_network(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve_to(monkeypatch, "8.8.8.8")
    for scheme in ("http", "HTTP"):
        with pytest.raises(AddressRefusedError, match="https"):
            send(f"{scheme}://models.example/v1", sends_key=True)


def test_the_whole_exchange_has_a_deadline(server: ModelServer) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.send_head(200, "application/json")
        while True:
            await exchange.send(b" ")
            await asyncio.sleep(0.02)

    server.script = script
    with pytest.raises(OSError, match="too long") as failure:
        send(server.url, seconds=0.3)
    assert not isinstance(failure.value, ConnectionError)


def test_a_server_that_cannot_be_reached_is_a_connection_error(server: ModelServer) -> None:
    with pytest.raises(ConnectionError):
        send("http://127.0.0.1:9/v1")


def test_a_header_that_cannot_be_sent_is_not_repeated(server: ModelServer) -> None:
    with pytest.raises(OSError, match="cannot be sent") as failure:
        send(server.url, headers={"Authorization": "Bearer sk-\nsecret"})
    assert failure.value.__cause__ is None
    assert send(server.url)[0] == 200
    assert len(server.exchanges) == 1  # the valid one


def test_a_request_can_be_made_where_an_event_loop_runs(server: ModelServer) -> None:
    async def run() -> int:
        return send(server.url)[0]

    server.script = answer_with(b"{}")
    assert asyncio.run(run()) == 200


def test_a_proxy_from_a_setting_must_not_contain_a_password() -> None:
    with pytest.raises(ProxyRefusedError):
        send("http://models.example/v1", proxy="http://me:word@127.0.0.1:1")


def test_a_host_is_checked_before_a_proxy_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve_to(monkeypatch, "169.254.169.254")
    with run_proxy(0) as proxy, pytest.raises(AddressRefusedError):
        send("http://models.example/v1", proxy=f"http://127.0.0.1:{proxy.port}")
    assert not proxy.request_lines


def test_httpx2_is_imported_only_when_a_request_is_made() -> None:
    modules = "fabula.llm.providers, fabula.llm.runs, fabula.search.embeddings.endpoint, fabula.workspace"
    code = f"import {modules}, sys; sys.exit('httpx2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
