"""Fixtures: a model server with a key, and neither proxies nor keyring of this machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.llm.server import ModelServer, run_server
from tests.net.proxy import clear_proxies


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with run_server() as running:
        yield running


@pytest.fixture(autouse=True)
def isolate_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    clear_proxies(monkeypatch)
    monkeypatch.setattr("keyring.get_password", lambda service, name: None)
    monkeypatch.setenv("TEST_KEY", "sk-test")
