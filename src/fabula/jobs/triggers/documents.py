"""The trigger on documents: a changed document enqueues a new synopsis of its chapter (cdx-6).

The job is enqueued in the transaction that changes the document, whoever changes it. Each further save postpones it, by
a few minutes at most. Where many documents change at once, as in an import, one job covers all of them, and another
makes the search index.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabula.jobs.queue import enqueue, is_valid_key
from fabula.manuscript.tables import documents
from fabula.store.store import Store
from fabula.store.transaction import WriteTransaction

SYNOPSIS_JOB = "synopsis"
INDEX_JOB = "index"
_PAUSE = 20.0  # seconds without another save
_MAX_DELAY = 300.0
_MAX_SINGLE_JOBS = 20  # documents of one change


def connect(store: Store) -> None:
    """Enqueue jobs for documents that change through this store."""
    store.hooks.add_before_commit(documents, _enqueue_jobs)


def _enqueue_jobs(tx: WriteTransaction, changed: Sequence[str]) -> None:
    keys = {document: f"{SYNOPSIS_JOB}:{document}" for document in changed}
    if len(keys) > _MAX_SINGLE_JOBS or not all(map(is_valid_key, keys.values())):
        enqueue(tx, SYNOPSIS_JOB, f"{SYNOPSIS_JOB}:all", due_in=_PAUSE, max_delay=_MAX_DELAY)
        enqueue(tx, INDEX_JOB, f"{INDEX_JOB}:search", due_in=_PAUSE, max_delay=_MAX_DELAY)
        return
    for document, key in keys.items():
        enqueue(tx, SYNOPSIS_JOB, key, {"document": document}, due_in=_PAUSE, max_delay=_MAX_DELAY)
