"""A project whose background work can be watched, and a model that works for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabula.jobs import queue as service
from fabula.jobs.model import Card, State
from fabula.jobs.tables import jobs
from fabula.jobs.worker import Worker
from fabula.store.store import Store
from fabula.workspace.handlers.job_kinds import kinds_of
from fabula.workspace.views import Library
from tests.llm.server import Server

TEXT = (
    "Mira climbed the lighthouse stairs before dawn. The lamp had gone out in the night.\n\n"
    "She found the keeper's letter under the oil can, and read it twice. He had sailed for the outer reef.\n"
)


def jobs_of(store: Store) -> dict[str, Card]:
    """Every job of the project, by its key."""
    with store.read(project="p") as reading:
        return {one.key: one for one in service.listed(reading)}


def make_due(store: Store) -> None:
    """As if the pause after a change had passed."""
    with store.write(project="p") as tx:
        tx.change(jobs, {"due": tx.clock()}, jobs.c.state == State.QUEUED.value)


def run_due(store: Store, library: Library) -> None:
    """Do what is queued, and what follows from it."""
    make_due(store)
    Worker(store, kinds_of(library), poll=0.02).drain()


def employ(server: Server, folder: Path, patch: pytest.MonkeyPatch, model: str = "gpt-4o") -> None:
    """From now on a model works for the house."""
    file = folder / "models.toml"
    file.write_text(
        f"""
background = "own"

[places.own]
base_url = "{server.url}"
needs_key = false
model = "{model}"
patience = {{ tries = 1, silence_seconds = 5 }}
"""
    )
    patch.setenv("FABULA_MODELS", str(file))
