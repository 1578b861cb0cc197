"""What earlier books of a series add to shared entries, written into a book while it is saved (man-3).

A save of a later book must be complete without the books before it. So it is made of the book as it would be with their
additions in its own codex. Nothing of that stays in the store: the transaction that adds them is rolled back.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fabula.codex import edits
from fabula.codex import snapshot as codex_rows
from fabula.codex.series import carry_earlier
from fabula.codex.tables import knowledge as knowledge_rows
from fabula.core.story import Timeline
from fabula.manuscript.projects import load_project
from fabula.manuscript.series import list_earlier_books
from fabula.store.rows import position_values
from fabula.store.save.manifest import SaveManifest
from fabula.store.save.saving import save_project, save_transaction
from fabula.store.store import Store
from fabula.store.transaction import WriteTransaction


class _SavedError(Exception):
    """Rolls the transaction back once the save is written."""


def save_complete(
    store: Store, project_id: str, path: Path, *, user: str | None, progress: Callable[[int, int], None] | None
) -> SaveManifest:
    """Save a project with everything that it shares, also what earlier books of its series added."""
    with store.read(project=project_id) as reading:
        _, _, series_id = load_project(reading)
    if series_id is None or not list_earlier_books(store, series_id, project_id):
        return save_project(store, project_id, path, user=user, progress=progress)
    manifest: SaveManifest | None = None
    try:
        with store.write(project=project_id, user=user) as tx:
            _add_earlier_facts(store, tx, project_id, series_id)
            manifest = save_transaction(tx, path, progress=progress)
            raise _SavedError
    except _SavedError:
        assert manifest is not None
        return manifest


def _add_earlier_facts(store: Store, tx: WriteTransaction, project_id: str, series_id: str) -> None:
    project, _, _ = load_project(tx)
    series = tx.series()
    if series is None:
        return
    timeline = Timeline()
    shared = codex_rows.load(series, series_id, project.language, timeline)
    own = codex_rows.load(tx, project_id, project.language, timeline)
    earlier = []
    for book in list_earlier_books(store, series_id, project_id):
        with store.read(project=book.id) as reading:
            earlier.append((book.id, codex_rows.load(reading, book.id, project.language, timeline)))
    entries, knowledge = carry_earlier(shared, own, earlier)
    notes = {(row.fact, row.knower): row.note for row in tx.rows(knowledge_rows)}
    edits.put_all(tx, entries)
    tx.delete_rows(knowledge_rows)
    for fact, knowers in knowledge.items():
        for knower, since in knowers.items():
            note = notes.get((fact, knower), "")
            row = {"fact": fact, "knower": knower, "note": note, **position_values("since", since)}
            tx.insert(knowledge_rows, row)
