"""What follows from answers that were taken, left or rewritten: memory looks whether they show a habit."""

from __future__ import annotations

from collections.abc import Sequence

from fabula.jobs import queue as service
from fabula.memory.tables import outcomes
from fabula.store.store import Store
from fabula.store.transaction import Writing

PROPOSALS = "proposals"
_PAUSE = 30.0  # seconds without another outcome
_AT_MOST = 600.0


def follow(store: Store) -> None:
    """From now on, outcomes noted through this store are followed."""
    store.following.join(outcomes, _queue)


def _queue(tx: Writing, _changed: Sequence[str]) -> None:
    service.queue(tx, PROPOSALS, f"{PROPOSALS}:memory", due_in=_PAUSE, at_most=_AT_MOST)
