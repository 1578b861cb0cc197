"""A reverse proxy names people and clients where it is trusted, and nobody else does."""

from __future__ import annotations

from ipaddress import ip_network

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.core.errors import Code, FabulaError
from fabula.server.proxies import ProxySettings, read_proxy_settings
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.server.running import run_server

HEADER = "X-Remote-User"


def read_code(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


@pytest.fixture
def ann(workspace: Workspace, story: ProjectHandle, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace.people.add("ann")
    workspace.people.set_role("ann", story.id, "editor")
    monkeypatch.setenv("FABULA_PROXY_HEADER", HEADER)


def test_a_trusted_proxy_names_the_person(workspace: Workspace, ann: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABULA_TRUSTED_PROXIES", "10.0.0.0/8, 127.0.0.1")
    with run_server(workspace) as server, server.client(None) as proxy:
        assert len(proxy.get("/api/projects", headers={HEADER: "Ann"}).json()["items"]) == 1
        for nobody in ("zed", "", "local", "ann, ann", "../ann", "x" * 1_000):
            assert read_code(proxy.get("/api/projects", headers={HEADER: nobody})) == (401, "ACCESS_REQUIRED")
        twice = [(HEADER, "ann"), (HEADER, "bob")]
        assert read_code(proxy.get("/api/projects", headers=twice)) == (401, "ACCESS_REQUIRED")
        workspace.people.remove("ann")


def test_a_person_whom_a_proxy_names_changes_things_from_the_own_page_only(
    workspace: Workspace, story: ProjectHandle, ann: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABULA_TRUSTED_PROXIES", "127.0.0.1")
    monkeypatch.setenv("FABULA_HOSTS", "Story.example")
    url, new = f"/api/projects/{story.id}/codex", {"name": "Odile"}
    with run_server(workspace) as server, server.client(None, **{HEADER: "ann", "Host": "story.example"}) as proxy:
        assert read_code(proxy.post(url, json=new)) == (403, "ACCESS_ORIGIN_REFUSED")
        evil = {"Origin": "https://evil.example"}
        assert read_code(proxy.post(url, json=new, headers=evil)) == (403, "ACCESS_ORIGIN_REFUSED")
        assert proxy.post(url, json=new, headers={"Origin": "https://story.example"}).status_code == 201
        assert read_code(proxy.get(url, headers={"Host": "other.example"})) == (421, "ACCESS_HOST_REFUSED")


@pytest.mark.parametrize("trusted", ["", "10.0.0.0/8"])
def test_the_name_in_the_header_is_refused_from_anybody_else(
    workspace: Workspace, ann: None, monkeypatch: pytest.MonkeyPatch, trusted: str
) -> None:
    if trusted:
        monkeypatch.setenv("FABULA_TRUSTED_PROXIES", trusted)
    with run_server(workspace) as server, server.client() as owner, server.client(None) as nobody:
        for client in (owner, nobody):
            refused = client.get("/api/projects", headers={HEADER: "ann", "X-Forwarded-For": "10.0.0.1"})
            assert read_code(refused) == (403, "ACCESS_PROXY_REFUSED")


def test_without_the_setting_no_header_signs_anybody_in(workspace: Workspace) -> None:
    workspace.people.add("ann")
    with run_server(workspace) as server, server.client(None) as nobody:
        for name in (HEADER, "Remote-User", "X-Forwarded-User"):
            assert read_code(nobody.get("/api/projects", headers={name: "ann"})) == (401, "ACCESS_REQUIRED")


@pytest.mark.parametrize("is_trusted", [True, False])
def test_the_cookie_behind_a_proxy_with_tls_is_sent_over_tls_alone(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, is_trusted: bool
) -> None:
    if is_trusted:
        monkeypatch.setenv("FABULA_TRUSTED_PROXIES", "127.0.0.1")
    workspace.people.add("ann", password="correct horse")
    sent = {"account": "ann", "password": "correct horse"}
    with run_server(workspace) as server, server.client(None) as proxy:
        tls = {"X-Forwarded-Proto": "https"}
        answer = proxy.post("/api/session", json=sent, headers=tls)
        cookie = answer.headers["set-cookie"].partition(";")[0]
        origin = {"Origin": server.base_url, "Cookie": cookie, **tls}
        assert proxy.get("/api/projects", headers=origin).status_code == 200
        ended = proxy.delete("/api/session", headers=origin).headers["set-cookie"].lower()
    port = server.base_url.rpartition(":")[2]
    name = answer.headers["set-cookie"].partition("=")[0]
    assert name == (f"__Host-fabula_session_{port}" if is_trusted else f"fabula_session_{port}")
    assert ("secure" in answer.headers["set-cookie"].lower()) == ("secure" in ended) == is_trusted
    assert "max-age=0" in ended
    assert cookie.partition("=")[0].lower() in ended


@pytest.mark.parametrize("value", ["everywhere", "10.0.0.0/99", "127.0.0.1;10.0.0.1"])
def test_addresses_that_are_none_are_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("FABULA_TRUSTED_PROXIES", value)
    with pytest.raises(FabulaError) as refused:
        read_proxy_settings()
    assert refused.value.code is Code.SETTING_INVALID


def test_the_client_is_the_last_address_that_no_trusted_proxy_has() -> None:
    proxy = ProxySettings(networks=(ip_network("10.0.0.0/8"),))
    assert proxy.find_client("10.0.0.1", "1.1.1.1, 2.2.2.2, 10.0.0.2") == "2.2.2.2"
    assert proxy.find_client("10.0.0.1", "") == "10.0.0.1"
    assert proxy.find_client("3.3.3.3", "1.1.1.1") == "3.3.3.3"


@given(st.text(), st.sampled_from(["10.0.0.1", "2.2.2.2", "", "::1", "x"]))
def test_any_header_gives_a_short_address(forwarded: str, address: str) -> None:
    proxy = ProxySettings(networks=(ip_network("10.0.0.0/8"),))
    assert len(proxy.find_client(address, forwarded)) <= 60
