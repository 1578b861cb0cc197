"""From rows to a snapshot: what did not move is shared with the snapshot before."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Any

from sqlalchemy import Row

from fabula.manuscript.drafts import Kind
from fabula.manuscript.model import Document, Manuscript
from fabula.manuscript.outline import beats_of
from fabula.manuscript.synopses.editing import rows_of, told_of
from fabula.manuscript.tables import documents
from fabula.manuscript.tree import in_order
from fabula.store.transaction import Reading


def load(reading: Reading, before: Manuscript | None = None, moved: Set[str] | None = None) -> Manuscript:
    """The manuscript as it stands. Where only known documents moved, only they are read."""
    if before is not None and moved is not None:
        patched = _patched(reading, before, moved)
        if patched is not None:
            return patched
    told, planned = rows_of(reading), beats_of(reading, open_only=True)
    known = before.by_id if before is not None else {}
    found, seats = [], {}
    for row in in_order(reading.rows(documents)):
        seats[row.id] = row.place
        fresh, kept = _document(row, told, planned), known.get(row.id)
        found.append(kept if kept == fresh and kept is not None else fresh)
    story = tuple(document for document in found if document.kind is not Kind.NOTE)
    notes = tuple(document for document in found if document.kind is Kind.NOTE)
    return Manuscript(story, notes, seats, {} if before is None else dict(before.hung))


def _patched(reading: Reading, before: Manuscript, moved: Set[str]) -> Manuscript | None:
    """The snapshot before with some documents replaced; None when the tree itself changed."""
    ids = sorted(moved)
    rows = reading.rows(documents, documents.c.id.in_(ids))
    if len(rows) != len(ids):
        return None
    told, planned = rows_of(reading, ids), beats_of(reading, ids, open_only=True)
    fresh: dict[str, Document] = {}
    for row in rows:
        kept, new = before.by_id.get(row.id), _document(row, told, planned)
        moved_on = before.seats.get(row.id) != row.place
        if kept is None or moved_on or (kept.parent, kept.kind) != (new.parent, new.kind):
            return None
        fresh[row.id] = kept if kept == new else new  # a mark or a note may have moved, not what is shown
    return replace(
        before,
        documents=tuple([fresh.get(document.id, document) for document in before.documents]),
        notes=tuple([fresh.get(document.id, document) for document in before.notes]),
        hung=dict(before.hung),
    )


def _document(row: Row[Any], told: dict[str, Row[Any]], planned: dict[str, list[str]]) -> Document:
    return Document(
        id=row.id,
        title=row.title,
        text=row.text,
        revision=row.version,
        kind=Kind(row.kind),
        parent=row.parent_id,
        pov=row.pov,
        when=row.happens,
        **told_of(told.get(row.id)),
        beats=tuple(planned.get(row.id, ())),
        known_to=None if row.known_to is None else frozenset(row.known_to),
    )
