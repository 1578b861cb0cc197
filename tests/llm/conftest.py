"""A server for each test, a key for it, and neither proxy nor keyring of this machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.llm.server import Server, serving
from tests.net.proxy import without_proxies


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    without_proxies(monkeypatch)
    monkeypatch.setattr("keyring.get_password", lambda service, name: None)
    monkeypatch.setenv("TEST_KEY", "sk-test")
