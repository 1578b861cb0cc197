"""What every test of background work may ask for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fabula.jobs.triggers.connect import connect_triggers
from fabula.manuscript import projects
from fabula.store.store import Store
from fabula.workspace.views import ProjectViews
from tests.llm.server import ModelServer, run_server
from tests.workspace.handlers.background import set_up_model


@pytest.fixture
def library(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProjectViews:
    """The views of a store in which one project is followed; following twice is following once."""
    monkeypatch.setenv("FABULA_CACHE", str(tmp_path / "cache"))
    connect_triggers(store)
    connect_triggers(store)
    projects.create(store, "Followed", project_id="p")
    return ProjectViews(store)


@pytest.fixture
def model_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A server that speaks as a model does, and works for the project."""
    with run_server() as running:
        set_up_model(running, tmp_path, monkeypatch)
        yield running
