"""Connect all triggers to a store: from then on its changes enqueue jobs."""

from __future__ import annotations

from fabula.jobs.triggers import documents, facts, messages, monthly_budget, outcomes, recap_settings
from fabula.store.store import Store


def connect_triggers(store: Store) -> None:
    """Connect every trigger; changes through this store enqueue jobs in the same transaction."""
    for trigger in (documents, facts, outcomes, messages, recap_settings, monthly_budget):
        trigger.connect(store)
