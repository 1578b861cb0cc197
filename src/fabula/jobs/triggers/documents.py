"""What follows from a saved document: its chapter is told in short again, a little later, in the background.

A job is queued in the transaction that changes a document, whoever changes it. Saving again puts it off, by a few
minutes at most. Where many documents change at once, as after an import, one job stands for all of them, and the
search index is made too.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabula.jobs import queue as service
from fabula.manuscript.tables import documents
from fabula.store.store import Store
from fabula.store.transaction import Writing

SYNOPSIS = "synopsis"
INDEX = "index"
_PAUSE = 20.0  # seconds without another save
_AT_MOST = 300.0
_MANY = 20  # documents of one change


def follow(store: Store) -> None:
    """From now on, changes of documents through this store are followed."""
    store.following.join(documents, _queue)


def _queue(tx: Writing, changed: Sequence[str]) -> None:
    keys = {ident: f"{SYNOPSIS}:{ident}" for ident in changed}
    if len(keys) > _MANY or not all(map(service.sound_key, keys.values())):
        service.queue(tx, SYNOPSIS, f"{SYNOPSIS}:all", due_in=_PAUSE, at_most=_AT_MOST)
        service.queue(tx, INDEX, f"{INDEX}:search", due_in=_PAUSE, at_most=_AT_MOST)
        return
    for ident, key in keys.items():
        service.queue(tx, SYNOPSIS, key, {"document": ident}, due_in=_PAUSE, at_most=_AT_MOST)
