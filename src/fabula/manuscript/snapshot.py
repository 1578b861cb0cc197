"""Load the manuscript from the store as a snapshot; unchanged documents are shared with the previous one."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Any

from sqlalchemy import Row

from fabula.manuscript.drafts import DocumentKind
from fabula.manuscript.model import Document, Manuscript
from fabula.manuscript.outline import load_beats
from fabula.manuscript.synopses.editing import load_rows, synopsis_fields
from fabula.manuscript.tables import documents
from fabula.manuscript.tree import sort_in_reading_order
from fabula.store.transaction import ReadTransaction


def load_manuscript(
    reading: ReadTransaction, previous: Manuscript | None = None, changed_ids: Set[str] | None = None
) -> Manuscript:
    """Load the manuscript. Where only `changed_ids` changed, and not the tree, only those documents are read."""
    if previous is not None and changed_ids is not None:
        updated = _update(reading, previous, changed_ids)
        if updated is not None:
            return updated
    synopsis_rows, beats = load_rows(reading), load_beats(reading, open_only=True)
    known = previous.by_id if previous is not None else {}
    documents_in_order, sibling_numbers = [], {}
    for row in sort_in_reading_order(reading.rows(documents)):
        sibling_numbers[row.id] = row.place
        loaded, old = _make_document(row, synopsis_rows, beats), known.get(row.id)
        documents_in_order.append(old if old is not None and old == loaded else loaded)
    story = tuple(document for document in documents_in_order if document.kind is not DocumentKind.NOTE)
    notes = tuple(document for document in documents_in_order if document.kind is DocumentKind.NOTE)
    return Manuscript(story, notes, sibling_numbers, {} if previous is None else dict(previous.cache))


def _update(reading: ReadTransaction, previous: Manuscript, changed_ids: Set[str]) -> Manuscript | None:
    """The previous snapshot with some documents replaced; None where the tree itself changed."""
    ids = sorted(changed_ids)
    rows = reading.rows(documents, documents.c.id.in_(ids))
    if len(rows) != len(ids):
        return None
    synopsis_rows, beats = load_rows(reading, ids), load_beats(reading, ids, open_only=True)
    replaced: dict[str, Document] = {}
    for row in rows:
        old, loaded = previous.by_id.get(row.id), _make_document(row, synopsis_rows, beats)
        has_moved = previous.sibling_numbers.get(row.id) != row.place
        if old is None or has_moved or (old.parent, old.kind) != (loaded.parent, loaded.kind):
            return None
        replaced[row.id] = old if old == loaded else loaded  # a mark or note may have changed, which is not shown
    return replace(
        previous,
        documents=tuple([replaced.get(document.id, document) for document in previous.documents]),
        notes=tuple([replaced.get(document.id, document) for document in previous.notes]),
        cache=dict(previous.cache),
    )


def _make_document(row: Row[Any], synopsis_rows: dict[str, Row[Any]], beats: dict[str, list[str]]) -> Document:
    return Document(
        id=row.id,
        title=row.title,
        text=row.text,
        revision=row.version,
        kind=DocumentKind(row.kind),
        parent=row.parent_id,
        pov=row.pov,
        story_time=row.happens,
        **synopsis_fields(synopsis_rows.get(row.id)),
        beats=tuple(beats.get(row.id, ())),
        known_to=None if row.known_to is None else frozenset(row.known_to),
    )
