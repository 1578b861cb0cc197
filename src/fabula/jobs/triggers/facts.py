"""The triggers on chapters that a model has summarised, and on entries: they enqueue a search for facts (cdx-10).

A chapter is read once its synopsis is made. Entries that are new, or have a new name, may be named in chapters that
were read long ago: a job finds these chapters and enqueues one job for each. It waits until nobody has changed an entry
for a minute, so that the entries of one sitting are asked about together.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabula.codex.tables import entries
from fabula.jobs.queue import enqueue, is_valid_key
from fabula.manuscript.tables import synopses
from fabula.settings.values import get_value
from fabula.store.store import Store
from fabula.store.transaction import WriteTransaction

FACTS_JOB = "facts"
_PAUSE = 60.0  # seconds without another change of an entry
_MAX_DELAY = 600.0


def connect(store: Store) -> None:
    """Enqueue a job when entries change through this store."""
    store.hooks.add_before_commit(entries, _enqueue_job)


def queue_facts(tx: WriteTransaction, documents: Sequence[str]) -> None:
    """Enqueue a job for each document, unless the settings say that no model looks for facts."""
    for document in documents if get_value(tx, "codex.factsByModel") else ():
        key = f"{FACTS_JOB}:{document}"
        if is_valid_key(key):
            enqueue(tx, FACTS_JOB, key, {"document": document})


def _enqueue_job(tx: WriteTransaction, _changed: Sequence[str]) -> None:
    """Enqueue a job for all documents, where a model works for the project."""
    is_summarised = tx.rows(synopses, synopses.c.origin == "model", limit=1, only=("document_id",))
    if is_summarised and get_value(tx, "codex.factsByModel"):
        enqueue(tx, FACTS_JOB, f"{FACTS_JOB}:all", due_in=_PAUSE, max_delay=_MAX_DELAY)
