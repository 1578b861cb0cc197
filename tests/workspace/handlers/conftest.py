"""What every test of background work may ask for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fabula.jobs.triggers.connect import follow
from fabula.manuscript import projects
from fabula.store.store import Store
from fabula.workspace.views import Library
from tests.llm.server import Server, serving
from tests.workspace.handlers.background import employ


@pytest.fixture
def library(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """The views of a store in which one project is followed; following twice is following once."""
    monkeypatch.setenv("FABULA_CACHE", str(tmp_path / "cache"))
    follow(store)
    follow(store)
    projects.create(store, "Followed", project_id="p")
    return Library(store)


@pytest.fixture
def model_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server that speaks as a model does, and works for the house."""
    with serving() as running:
        employ(running, tmp_path, monkeypatch)
        yield running
