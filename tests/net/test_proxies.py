"""Through whom one leaves."""

from __future__ import annotations

import pytest

from fabula.net.proxies import proxy_for, wrong_with_proxy
from tests.net.proxy import without_proxies

FAR = "https://api.example.com/v1"


@pytest.fixture(autouse=True)
def none_here(monkeypatch: pytest.MonkeyPatch) -> None:
    without_proxies(monkeypatch)


def test_without_a_word_there_is_none() -> None:
    assert proxy_for(FAR) is None


def test_the_environment_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "http://all:1")
    assert proxy_for(FAR) == "http://all:1"
    monkeypatch.setenv("HTTPS_PROXY", "secure:2")
    assert proxy_for(FAR) == "http://secure:2"
    assert proxy_for("http://api.example.com/v1") == "http://all:1"


def test_a_place_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://one:1")
    assert proxy_for(FAR, "none") is None
    assert proxy_for(FAR, "http://other:2") == "http://other:2"


@pytest.mark.parametrize("left_out", ["api.example.com", ".example.com", "example.com:443,example.com", "*"])
def test_names_that_are_left_out(monkeypatch: pytest.MonkeyPatch, left_out: str) -> None:
    monkeypatch.setenv("https_proxy", "http://one:1")
    monkeypatch.setenv("no_proxy", left_out)
    assert proxy_for(FAR) is None


def test_networks_that_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://one:1")
    monkeypatch.setenv("no_proxy", "10.0.0.0/8, nonsense/x, fd00::/8")
    assert proxy_for("http://10.1.2.3:8000/v1") is None
    assert proxy_for("http://[fd00::5]/v1") is None
    assert proxy_for("http://11.1.2.3:8000/v1") == "http://one:1"


@pytest.mark.parametrize("url", ["http://localhost:11434/v1", "http://127.0.0.1/v1", "http://[::1]:8080/v1"])
def test_this_machine_is_never_reached_through_one(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("all_proxy", "http://one:1")
    assert proxy_for(url) is None
    assert proxy_for(url, "http://other:2") is None


@pytest.mark.parametrize("proxy", ["", "ftp://host:1", "http://", "http://ho st:1", "http://host:99999"])
def test_a_proxy_that_is_none(proxy: str) -> None:
    assert wrong_with_proxy(proxy, named=False)


def test_a_password_belongs_into_the_environment() -> None:
    assert wrong_with_proxy("http://me:word@host:1", named=False) == ""
    said = wrong_with_proxy("http://me:word@host:1", named=True)
    assert said
    assert "me:word" not in said
