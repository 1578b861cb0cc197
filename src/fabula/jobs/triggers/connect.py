"""Everything that follows from changes: what is queued in the background with them."""

from __future__ import annotations

from fabula.jobs.triggers import documents as after_saving
from fabula.jobs.triggers import messages as after_saying
from fabula.jobs.triggers import outcomes as after_outcomes
from fabula.store.store import Store


def follow(store: Store) -> None:
    """From now on, what follows from changes through this store is queued with them."""
    after_saving.follow(store)
    after_outcomes.follow(store)
    after_saying.follow(store)
