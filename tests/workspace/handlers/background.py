"""A project whose background work can be watched, and a model that works for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabula.jobs import queue as service
from fabula.jobs.model import JobState, JobSummary
from fabula.jobs.tables import jobs
from fabula.jobs.worker import Worker
from fabula.store.store import Store
from fabula.workspace.handlers.job_kinds import job_kinds
from fabula.workspace.views import ProjectViews
from tests.llm.server import Exchange, ModelServer, Script, openai_answer

TEXT = (
    "Mira climbed the lighthouse stairs before dawn. The lamp had gone out in the night.\n\n"
    "She found the keeper's letter under the oil can, and read it twice. He had sailed for the outer reef.\n"
)


def find_prompt(exchange: Exchange) -> str:
    """The text of a request to the model."""
    return "\n".join(one["content"] for one in exchange.request["messages"])


def answer_where(mark: str, text: str, *, otherwise: str) -> Script:
    """A model that answers so where its prompt has a mark, and otherwise something else."""

    async def script(exchange: Exchange) -> None:
        answer = text if mark in find_prompt(exchange) else otherwise
        await openai_answer(answer, usage={"prompt_tokens": 1000, "completion_tokens": 100})(exchange)

    return script


def list_jobs(store: Store) -> dict[str, JobSummary]:
    """Every job of the project, by its key."""
    with store.read(project="p") as reading:
        return {one.key: one for one in service.list_jobs(reading)}


def make_due(store: Store) -> None:
    """As if the pause after a change had passed."""
    with store.write(project="p") as tx:
        tx.update_rows(jobs, {"due": tx.current_time()}, jobs.c.state == JobState.QUEUED.value)


def run_due(store: Store, library: ProjectViews) -> None:
    """Do what is queued, and what follows from it."""
    make_due(store)
    Worker(store, job_kinds(library), poll_seconds=0.02).drain()


def set_up_model(server: ModelServer, folder: Path, patch: pytest.MonkeyPatch, model: str = "gpt-4o") -> None:
    """From now on a model works for the project."""
    file = folder / "models.toml"
    file.write_text(
        f"""
background = "own"

[places.own]
base_url = "{server.url}"
needs_key = false
model = "{model}"
patience = {{ tries = 1, silence_seconds = 60 }}
"""
    )
    patch.setenv("FABULA_MODELS", str(file))
