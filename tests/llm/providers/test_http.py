"""The way out: where it may lead, what goes along, and through whom."""

from __future__ import annotations

import logging
import socket
import traceback
from typing import Any

import pytest
from msgspec.structs import replace

from fabula.core.errors import Code
from fabula.llm.provider_config import Place, key_of
from tests.llm.calls import QUICK, answered, openai_at, place_at, refused, text_of
from tests.llm.server import Server, anthropic_says, fails, openai_says, serving
from tests.net.proxy import proxying

STYLES = ["openai", "anthropic"]


def at(url: str, **more: Any) -> Place:
    return Place(name="there", base_url=url, key_variable="TEST_KEY", patience=QUICK, **more)


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
def test_addresses_where_no_model_lives_are_refused(url: str) -> None:
    error, _ = refused(at(url))
    assert error.code is Code.LLM_ADDRESS_REFUSED
    assert "word" not in error.sentence.replace("password", "")


def test_a_name_is_judged_by_every_address_it_leads_to(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.getaddrinfo

    def lying(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        if host != "models.example":
            return real(host, port, *rest, **more)
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)),
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("169.254.169.254", port)),
        ]

    monkeypatch.setattr(socket, "getaddrinfo", lying)
    assert refused(at(f"http://models.example:{server.port}/v1"))[0].code is Code.LLM_ADDRESS_REFUSED
    assert not server.seen


def test_this_machine_is_reached_by_its_name(server: Server) -> None:
    assert text_of(answered(at(server.url.replace("127.0.0.1", "localhost")))) == "Hello."


def test_an_address_that_was_allowed_is_tried() -> None:
    assert refused(at("http://0.0.0.0:9/v1", allow_any_address=True))[0].code is Code.LLM_GONE


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_nobody_is_followed_elsewhere(server: Server, style: str, status: int) -> None:
    with serving() as elsewhere:
        server.script = fails(status, location=f"{elsewhere.url}/chat/completions")
        assert refused(place_at(server, style))[0].code is Code.LLM_REFUSED
        assert not elsewhere.seen


@pytest.mark.parametrize("style", STYLES)
def test_nothing_of_the_environment_goes_along_but_the_key(
    server: Server, style: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "secret-of-another")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "secret-of-another")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Mine: secret-of-another")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Mine: secret-of-another")
    server.script = openai_says("Yes.") if style == "openai" else anthropic_says("Yes.")
    answered(place_at(server, style))
    sent = server.seen[0].headers
    assert "secret-of-another" not in str(sent)
    assert "sk-test" in str(sent)
    known = {"host", "accept", "content-type", "content-length", "connection", "user-agent", "accept-encoding"}
    assert set(sent) <= known | {"authorization", "x-api-key", "anthropic-version"}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_a_key_is_in_no_error_and_in_no_log(
    server: Server, style: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.script = fails(status, "Incorrect API key provided: sk-test. Your prompt was: Go on.")
    error, _ = refused(place_at(server, style))
    told = f"{error} {error.details}"
    assert "sk-test" not in told
    assert "Go on." not in told
    assert "sk-test" not in caplog.text
    assert "Go on." not in caplog.text


@pytest.mark.parametrize("key", ["sk-\nsecret", "sk secret", "sk-sécret", "sk-\x00secret"])
def test_a_key_that_is_none_is_refused_without_repeating_it(
    server: Server, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.environ", {"TEST_KEY": key})
    error, _ = refused(openai_at(server))
    assert error.code is Code.LLM_NO_KEY
    assert "cret" not in "".join(traceback.format_exception(error))
    assert not server.seen


def test_a_key_comes_from_the_keyring_where_the_environment_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    ring = {("fabula", "there"): " sk-ring "}
    monkeypatch.setattr("keyring.get_password", lambda service, name: ring.get((service, name)))
    monkeypatch.delenv("TEST_KEY")
    assert key_of(at("http://127.0.0.1/v1")) == "sk-ring"
    monkeypatch.setenv("TEST_KEY", "sk-here")
    assert key_of(at("http://127.0.0.1/v1")) == "sk-here"


@pytest.mark.parametrize("style", STYLES)
def test_a_proxy_of_this_machine_leads_to_the_provider(
    server: Server, style: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.script = openai_says("Hel", "lo.") if style == "openai" else anthropic_says("Hel", "lo.")
    with proxying(server.port) as proxy:
        monkeypatch.setenv("http_proxy", f"http://me:word@127.0.0.1:{proxy.port}")
        far = replace(place_at(server, style), base_url="http://models.invalid:8000/v1")
        assert text_of(answered(far)) == "Hello."
        assert proxy.asked[0].startswith("POST http://models.invalid:8000/v1/")
        assert proxy.headers[0]["proxy-authorization"] == "Basic bWU6d29yZA=="
        assert "proxy-authorization" not in server.seen[0].headers
        assert text_of(answered(place_at(server, style))) == "Hello."
        assert len(proxy.asked) == 1  # this machine itself is reached without it


def test_through_a_proxy_a_secure_address_stays_secure(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as nobody, proxying(nobody.port) as proxy:  # who does not speak TLS
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
        error, _ = refused(at("https://models.invalid/v1"), patience=replace(QUICK, silence_seconds=0.5, tries=1))
        assert error.code in (Code.LLM_GONE, Code.LLM_TIMEOUT)
        assert proxy.asked == ["CONNECT models.invalid:443 HTTP/1.1"]
        assert "sk-test" not in str(proxy.headers)
        assert not nobody.seen


@pytest.mark.parametrize("url", ["http://169.254.169.254/v1", "http://2852039166/v1", "http://metadata/v1"])
def test_a_proxy_is_not_asked_for_places_where_no_model_lives(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with proxying(0) as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        assert refused(at(url))[0].code is Code.LLM_ADDRESS_REFUSED
        assert not proxy.asked


@pytest.mark.parametrize(("scheme", "code"), [("https", Code.LLM_GONE), ("http", Code.LLM_REFUSED)])
def test_a_proxy_that_does_not_let_us_pass_is_named(scheme: str, code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    with proxying(0) as proxy:
        proxy.refuses = 407
        monkeypatch.setenv(f"{scheme}_proxy", f"http://127.0.0.1:{proxy.port}")
        error, _ = refused(at(f"{scheme}://models.invalid/v1"))
        assert error.code is code
        assert "proxy" in error.sentence


def test_a_place_can_do_without_the_proxy_or_have_its_own(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with proxying(server.port) as proxy:
        own = at("http://models.invalid/v1", proxy=f"http://127.0.0.1:{proxy.port}")
        assert text_of(answered(own)) == "Hello."
        assert refused(replace(own, proxy="none"))[0].code is Code.LLM_GONE
        assert refused(replace(own, proxy="http://me:word@127.0.0.1:1"))[0].code is Code.LLM_ADDRESS_REFUSED
        assert refused(replace(own, proxy="nowhere"))[0].code is Code.LLM_ADDRESS_REFUSED
