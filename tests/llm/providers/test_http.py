"""HTTP clients of providers: addresses, headers, keys and proxies."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import socket
import traceback
from typing import Any
from weakref import ref

import pytest
from msgspec.structs import replace

from fabula.core.errors import Code
from fabula.llm.provider_config import ProviderConfig, find_api_key
from fabula.llm.providers.openai_compatible import OpenAICompatibleProvider
from tests.llm.calls import QUICK_POLICY, collect_events, config_for, expect_error, join_text, openai_config
from tests.llm.server import Exchange, ModelServer, anthropic_answer, error_answer, openai_answer, run_server
from tests.net.proxy import run_proxy

STYLES = ["openai", "anthropic"]


def at(url: str, **more: Any) -> ProviderConfig:
    return ProviderConfig(name="there", base_url=url, key_variable="TEST_KEY", retry_policy=QUICK_POLICY, **more)


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest",
        "http://[fe80::1]/v1",
        "http://[::ffff:169.254.169.254]/v1",
        "http://[64:ff9b::a9fe:a9fe]/v1",
        "http://[fd00:ec2::254]/v1",
        "http://0.0.0.0/v1",
        "http://100.100.100.200/v1",
        "http://2852039166/v1",
        "http://0xA9FEA9FE/v1",
        "http://0251.0376.0251.0376/v1",
        "http://①⑥⑨.254.169.254/v1",
        "http://metadata.google.internal/v1",
        "http://8.8.8.8:9/v1",
        "ftp://127.0.0.1/v1",
        "file:///etc/passwd",
        "http://",
        "http://user:word@127.0.0.1/v1",
        "http://127.0.0.1/v1?key=word",
        "not an address, word",
    ],
)
def test_forbidden_addresses_are_refused(url: str) -> None:
    error, _ = expect_error(at(url))
    assert error.code is Code.LLM_ADDRESS_REFUSED
    assert "word" not in error.sentence.replace("password", "")


def test_a_provider_that_nobody_uses_any_more_is_freed_at_once(server: ModelServer) -> None:
    provider = OpenAICompatibleProvider(openai_config(server))
    asyncio.run(provider.aclose())
    held = ref(provider)
    gc.disable()
    try:
        del provider
        assert held() is None
    finally:
        gc.enable()


def test_every_address_of_a_name_is_checked(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.getaddrinfo

    def lying(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        if host != "models.example":
            return real(host, port, *rest, **more)
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)),
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("169.254.169.254", port)),
        ]

    monkeypatch.setattr(socket, "getaddrinfo", lying)
    assert expect_error(at(f"http://models.example:{server.port}/v1"))[0].code is Code.LLM_ADDRESS_REFUSED
    assert not server.exchanges


def test_this_machine_is_reached_by_its_name(server: ModelServer) -> None:
    assert join_text(collect_events(at(server.url.replace("127.0.0.1", "localhost")))) == "Hello."


def test_an_allowed_address_is_tried() -> None:
    assert expect_error(at("http://0.0.0.0:9/v1", allow_any_address=True))[0].code is Code.LLM_GONE


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(server: ModelServer, style: str, status: int) -> None:
    with run_server() as elsewhere:
        server.script = error_answer(status, location=f"{elsewhere.url}/chat/completions")
        assert expect_error(config_for(server, style))[0].code is Code.LLM_REFUSED
        assert not elsewhere.exchanges


@pytest.mark.parametrize("style", STYLES)
def test_nothing_from_the_environment_is_sent_but_the_key(
    server: ModelServer, style: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "secret-of-another")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "secret-of-another")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Mine: secret-of-another")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Mine: secret-of-another")
    server.script = openai_answer("Yes.") if style == "openai" else anthropic_answer("Yes.")
    collect_events(config_for(server, style))
    sent = server.exchanges[0].headers
    assert "secret-of-another" not in str(sent)
    assert "sk-test" in str(sent)
    known = {"host", "accept", "content-type", "content-length", "connection", "user-agent", "accept-encoding"}
    assert set(sent) <= known | {"authorization", "x-api-key", "anthropic-version"}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_a_key_is_in_no_error_and_in_no_log(
    server: ModelServer, style: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.script = error_answer(status, "Incorrect API key provided: sk-test. Your prompt was: Go on.")
    error, _ = expect_error(config_for(server, style))
    told = f"{error} {error.details}"
    assert "sk-test" not in told
    assert "Go on." not in told
    assert "sk-test" not in caplog.text
    assert "Go on." not in caplog.text


@pytest.mark.parametrize("key", ["sk-\nsecret", "sk secret", "sk-sécret", "sk-\x00secret"])
def test_an_invalid_key_is_refused_without_repeating_it(
    server: ModelServer, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.environ", {"TEST_KEY": key})
    error, _ = expect_error(openai_config(server))
    assert error.code is Code.LLM_NO_KEY
    assert "cret" not in "".join(traceback.format_exception(error))
    assert not server.exchanges


def test_the_keyring_has_the_key_if_the_environment_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    ring = {("fabula", "there"): " sk-ring "}
    monkeypatch.setattr("keyring.get_password", lambda service, name: ring.get((service, name)))
    monkeypatch.delenv("TEST_KEY")
    assert find_api_key(at("http://127.0.0.1/v1")) == "sk-ring"
    monkeypatch.setenv("TEST_KEY", "sk-here")
    assert find_api_key(at("http://127.0.0.1/v1")) == "sk-here"


@pytest.mark.parametrize("style", STYLES)
def test_the_proxy_of_the_environment_is_used(server: ModelServer, style: str, monkeypatch: pytest.MonkeyPatch) -> None:
    server.script = openai_answer("Hel", "lo.") if style == "openai" else anthropic_answer("Hel", "lo.")
    with run_proxy(server.port) as proxy:
        monkeypatch.setenv("http_proxy", f"http://me:word@127.0.0.1:{proxy.port}")
        far = replace(config_for(server, style), base_url="http://models.invalid:8000/v1")
        assert join_text(collect_events(far)) == "Hello."
        assert proxy.request_lines[0].startswith("POST http://models.invalid:8000/v1/")
        assert proxy.headers[0]["proxy-authorization"] == "Basic bWU6d29yZA=="
        assert "proxy-authorization" not in server.exchanges[0].headers
        assert join_text(collect_events(config_for(server, style))) == "Hello."
        assert len(proxy.request_lines) == 1  # this machine itself is reached without it


def test_through_a_proxy_a_secure_address_stays_secure(monkeypatch: pytest.MonkeyPatch) -> None:
    with run_server() as plain_server, run_proxy(plain_server.port) as proxy:  # without TLS
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
        error, _ = expect_error(
            at("https://models.invalid/v1"), retry_policy=replace(QUICK_POLICY, silence_seconds=0.5, max_attempts=1)
        )
        assert error.code in (Code.LLM_GONE, Code.LLM_TIMEOUT)
        assert proxy.request_lines == ["CONNECT models.invalid:443 HTTP/1.1"]
        assert "sk-test" not in str(proxy.headers)
        assert not plain_server.exchanges


@pytest.mark.parametrize("url", ["http://169.254.169.254/v1", "http://2852039166/v1", "http://metadata/v1"])
def test_a_proxy_is_not_asked_for_forbidden_addresses(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with run_proxy(0) as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        assert expect_error(at(url))[0].code is Code.LLM_ADDRESS_REFUSED
        assert not proxy.request_lines


@pytest.mark.parametrize(("scheme", "code"), [("https", Code.LLM_GONE), ("http", Code.LLM_REFUSED)])
def test_the_error_names_a_proxy_that_refuses(scheme: str, code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    with run_proxy(0) as proxy:
        proxy.refusal_status = 407
        monkeypatch.setenv(f"{scheme}_proxy", f"http://127.0.0.1:{proxy.port}")
        error, _ = expect_error(at(f"{scheme}://models.invalid/v1"))
        assert error.code is code
        assert "proxy" in error.sentence


def test_a_provider_may_use_no_proxy_or_its_own(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with run_proxy(server.port) as proxy:
        own = at("http://models.invalid/v1", proxy=f"http://127.0.0.1:{proxy.port}")
        assert join_text(collect_events(own)) == "Hello."
        assert expect_error(replace(own, proxy="none"))[0].code is Code.LLM_GONE
        assert expect_error(replace(own, proxy="http://me:word@127.0.0.1:1"))[0].code is Code.LLM_ADDRESS_REFUSED
        assert expect_error(replace(own, proxy="nowhere"))[0].code is Code.LLM_ADDRESS_REFUSED


def test_a_connection_that_breaks_in_mid_answer_is_not_called_unreachable(server: ModelServer) -> None:
    async def break_off(exchange: Exchange) -> None:
        await exchange.send_head(Transfer_Encoding="chunked")
        event = f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': 'Half a'}}]})}\n\n".encode()
        await exchange.send(f"{len(event):x}\r\n".encode() + event + b"\r\n")

    server.script = break_off
    error, text = expect_error(openai_config(server))
    assert (error.code, text) == (Code.LLM_GONE, "Half a")
    assert "broke off the connection" in str(error)
