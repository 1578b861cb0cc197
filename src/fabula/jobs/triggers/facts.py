"""The trigger on chapters that a model has summarised: it enqueues a search for facts in their documents (cdx-10)."""

from __future__ import annotations

from collections.abc import Sequence

from fabula.jobs.queue import enqueue, is_valid_key
from fabula.settings.values import get_value
from fabula.store.transaction import WriteTransaction

FACTS_JOB = "facts"


def queue_facts(tx: WriteTransaction, documents: Sequence[str]) -> None:
    """Enqueue a job for each document, unless the settings say that no model looks for facts."""
    for document in documents if get_value(tx, "codex.factsByModel") else ():
        key = f"{FACTS_JOB}:{document}"
        if is_valid_key(key):
            enqueue(tx, FACTS_JOB, key, {"document": document})
