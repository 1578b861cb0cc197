"""Proxy selection."""

from __future__ import annotations

import pytest

from fabula.net.proxies import find_proxy, find_proxy_problem
from tests.net.proxy import clear_proxies

FAR = "https://api.example.com/v1"


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    clear_proxies(monkeypatch)


def test_without_configuration_there_is_no_proxy() -> None:
    assert find_proxy(FAR) is None


def test_the_environment_names_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "http://all:1")
    assert find_proxy(FAR) == "http://all:1"
    monkeypatch.setenv("HTTPS_PROXY", "secure:2")
    assert find_proxy(FAR) == "http://secure:2"
    assert find_proxy("http://api.example.com/v1") == "http://all:1"


def test_a_setting_overrides_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://one:1")
    assert find_proxy(FAR, "none") is None
    assert find_proxy(FAR, "http://other:2") == "http://other:2"


@pytest.mark.parametrize("left_out", ["api.example.com", ".example.com", "example.com:443,example.com", "*"])
def test_names_in_no_proxy_are_reached_directly(monkeypatch: pytest.MonkeyPatch, left_out: str) -> None:
    monkeypatch.setenv("https_proxy", "http://one:1")
    monkeypatch.setenv("no_proxy", left_out)
    assert find_proxy(FAR) is None


def test_networks_in_no_proxy_are_reached_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://one:1")
    monkeypatch.setenv("no_proxy", "10.0.0.0/8, nonsense/x, fd00::/8")
    assert find_proxy("http://10.1.2.3:8000/v1") is None
    assert find_proxy("http://[fd00::5]/v1") is None
    assert find_proxy("http://11.1.2.3:8000/v1") == "http://one:1"


@pytest.mark.parametrize("url", ["http://localhost:11434/v1", "http://127.0.0.1/v1", "http://[::1]:8080/v1"])
def test_this_machine_is_never_reached_through_a_proxy(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("all_proxy", "http://one:1")
    assert find_proxy(url) is None
    assert find_proxy(url, "http://other:2") is None


@pytest.mark.parametrize("proxy", ["", "ftp://host:1", "http://", "http://ho st:1", "http://host:99999"])
def test_an_invalid_proxy_has_a_problem(proxy: str) -> None:
    assert find_proxy_problem(proxy, from_settings=False)


def test_a_password_may_be_in_the_environment_but_not_in_a_setting() -> None:
    assert find_proxy_problem("http://me:word@host:1", from_settings=False) is None
    problem = find_proxy_problem("http://me:word@host:1", from_settings=True)
    assert problem
    assert "me:word" not in str(problem)
