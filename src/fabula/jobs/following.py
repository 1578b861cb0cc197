"""Everything that follows from changes: what is queued in the background with them."""

from __future__ import annotations

from fabula.jobs import after_outcomes, after_saving, after_saying
from fabula.store.store import Store


def follow(store: Store) -> None:
    """From now on, what follows from changes through this store is queued with them."""
    after_saving.follow(store)
    after_outcomes.follow(store)
    after_saying.follow(store)
