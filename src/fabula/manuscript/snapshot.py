"""Load the manuscript from the store as a snapshot; unchanged documents are shared with the previous one."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import replace
from typing import Any

from sqlalchemy import Row

from fabula.manuscript.drafts import DocumentKind
from fabula.manuscript.model import Document, Manuscript
from fabula.manuscript.outline import load_beats
from fabula.manuscript.tables import documents, synopses
from fabula.store.transaction import ReadTransaction


def load_manuscript(
    reading: ReadTransaction, previous: Manuscript | None = None, changed_ids: Set[str] | None = None
) -> Manuscript:
    """Load the manuscript. Where only `changed_ids` changed, and not the tree, only those documents are read."""
    if previous is not None and changed_ids is not None:
        updated = _update(reading, previous, changed_ids)
        if updated is not None:
            return updated
    rows = sort_in_reading_order(reading.rows(documents))
    loaded = _make_documents(reading, rows, previous)
    return Manuscript(
        tuple(document for document in loaded.values() if document.kind is not DocumentKind.NOTE),
        tuple(document for document in loaded.values() if document.kind is DocumentKind.NOTE),
        {row.id: row.place for row in rows},
        {} if previous is None else dict(previous.cache),
    )


def load_synopsis_rows(reading: ReadTransaction, document_ids: list[str] | None = None) -> dict[str, Row[Any]]:
    """The rows of the synopses of all documents, or of some, by document."""
    where = () if document_ids is None else (synopses.c.document_id.in_(document_ids),)
    return {row.document_id: row for row in reading.rows(synopses, *where)}


def list_story_documents(reading: ReadTransaction) -> list[Row[Any]]:
    """The ids and titles of the documents of the story in reading order, without texts and notes."""
    rows = reading.rows(documents, only=("id", "parent_id", "place", "kind", "title"))
    return [row for row in sort_in_reading_order(rows) if row.kind != DocumentKind.NOTE]


def sort_in_reading_order(rows: Iterable[Row[Any]]) -> list[Row[Any]]:
    """Rows of documents in reading order: each one before its children."""
    by_parent = group_by_parent(rows)
    ordered: list[Row[Any]] = []
    stack = list(reversed(by_parent.get(None, ())))
    while stack:
        row = stack.pop()
        ordered.append(row)
        stack.extend(reversed(by_parent.get(row.id, ())))
    return ordered


def group_by_parent(rows: Iterable[Row[Any]]) -> dict[str | None, list[Row[Any]]]:
    """The children of each document, in order."""
    by_parent: dict[str | None, list[Row[Any]]] = {}
    for row in sorted(rows, key=lambda row: (row.place, row.id)):
        by_parent.setdefault(row.parent_id, []).append(row)
    return by_parent


def _update(reading: ReadTransaction, previous: Manuscript, changed_ids: Set[str]) -> Manuscript | None:
    """The previous snapshot with some documents replaced; None where the tree itself changed."""
    ids = sorted(changed_ids)
    rows = reading.rows(documents, documents.c.id.in_(ids))
    if len(rows) != len(ids):
        return None
    replaced = _make_documents(reading, rows, previous, ids)
    for row in rows:
        old, loaded = previous.by_id.get(row.id), replaced[row.id]
        has_moved = previous.sibling_numbers.get(row.id) != row.place
        if old is None or has_moved or (old.parent, old.kind) != (loaded.parent, loaded.kind):
            return None
    return replace(
        previous,
        documents=tuple([replaced.get(document.id, document) for document in previous.documents]),
        notes=tuple([replaced.get(document.id, document) for document in previous.notes]),
        cache=dict(previous.cache),
    )


def _make_documents(
    reading: ReadTransaction, rows: Iterable[Row[Any]], previous: Manuscript | None, ids: list[str] | None = None
) -> dict[str, Document]:
    """The documents of some rows by id; those that are equal to the previous ones are the previous ones."""
    synopsis_rows, beats = load_synopsis_rows(reading, ids), load_beats(reading, ids, open_only=True)
    known = previous.by_id if previous is not None else {}
    loaded = {}
    for row in rows:
        document = Document(
            id=row.id,
            title=row.title,
            text=row.text,
            revision=row.version,
            kind=DocumentKind(row.kind),
            parent=row.parent_id,
            pov=row.pov,
            story_time=row.happens,
            beats=tuple(beats.get(row.id, ())),
            known_to=None if row.known_to is None else frozenset(row.known_to),
        )
        synopsis = synopsis_rows.get(row.id)
        if synopsis is not None:
            summary = {"synopsis": synopsis.text, "synopsis_origin": synopsis.origin}
            document = replace(document, **summary, synopsis_text_hash=synopsis.made_from)
        old = known.get(row.id)
        loaded[row.id] = old if old is not None and old == document else document
    return loaded
