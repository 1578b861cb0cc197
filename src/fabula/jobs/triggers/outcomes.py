"""The trigger on outcomes: accepted, rejected and rewritten answers enqueue a search for preferences (mem-2)."""

from __future__ import annotations

from collections.abc import Sequence

from fabula.jobs.queue import enqueue
from fabula.memory.tables import outcomes
from fabula.store.store import Store
from fabula.store.transaction import WriteTransaction

PROPOSALS_JOB = "proposals"
_PAUSE = 30.0  # seconds without another outcome
_MAX_DELAY = 600.0


def connect(store: Store) -> None:
    """Enqueue a job when outcomes are recorded through this store."""
    store.hooks.add_before_commit(outcomes, _enqueue_job)


def _enqueue_job(tx: WriteTransaction, _changed: Sequence[str]) -> None:
    enqueue(tx, PROPOSALS_JOB, f"{PROPOSALS_JOB}:memory", due_in=_PAUSE, max_delay=_MAX_DELAY)
