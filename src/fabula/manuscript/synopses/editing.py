"""Stored synopses: one per chapter, written by hand or by a model, or extracted from the chapter (cdx-6).

Each stores the hash of the text it summarises, and is stale when the text has changed. A synopsis that was written by
hand is never overwritten automatically; it only counts as stale. `refresh_synopses` makes the others anew. It reads
and writes in short transactions and holds none while it summarises: a chapter whose text or synopsis changed meanwhile
keeps what it has.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field
from sqlalchemy import Row

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp
from fabula.core.view import Language
from fabula.manuscript.drafts import DocumentKind
from fabula.manuscript.model import Document, hash_text
from fabula.manuscript.synopses.chapters import CONTAINER_KINDS, Chapter, group_into_chapters, join_texts
from fabula.manuscript.tables import documents, synopses
from fabula.manuscript.tree import group_by_parent, sort_in_reading_order
from fabula.store.store import Store
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.text.names.main_characters import NO_CHARACTERS, CharacterFinder
from fabula.text.summaries import Summariser, choose_synopsis_length, extract_summary

SynopsisOrigin = Literal["hand", "extract", "model"]
SynopsisState = Literal["fresh", "stale", "missing"]

MAX_CHARS = 8000
_BATCH = 20  # synopses written in one transaction
_BATCH_SECONDS = 1.0  # after which those made so far are written


class SynopsisRecord(Struct, frozen=True):
    """The stored synopsis of a chapter, and its state."""

    document_id: str
    title: str
    state: SynopsisState
    origin: str | None = None
    text: str = ""
    version: int = 0
    missing_characters: tuple[str, ...] = ()  # main characters of the chapter that it does not name


class SynopsisRefresh(Struct, kw_only=True):
    """The result of refreshing synopses, by chapter."""

    created: list[SynopsisRecord] = field(default_factory=list)
    stale_by_hand: list[str] = field(default_factory=list)  # not replaced
    changed_meanwhile: list[str] = field(default_factory=list)  # changed while they were summarised
    failed: dict[str, str] = field(default_factory=dict)  # with the reason

    @property
    def missing_characters(self) -> dict[str, tuple[str, ...]]:
        """Main characters that a new synopsis does not name, by chapter."""
        return {record.document_id: record.missing_characters for record in self.created if record.missing_characters}


def load_rows(reading: ReadTransaction, document_ids: list[str] | None = None) -> dict[str, Row[Any]]:
    """The rows of the synopses of all documents, or of some, by document."""
    where = () if document_ids is None else (synopses.c.document_id.in_(document_ids),)
    return {row.document_id: row for row in reading.rows(synopses, *where)}


def write_synopsis(
    tx: WriteTransaction, document_id: str, text: str, *, origin: SynopsisOrigin = "hand", expected: int | None = None
) -> int:
    """Store a synopsis of a document with the hash of its current text; return the new version."""
    tx.require(documents, id=document_id)
    if not text.strip() or len(text) > MAX_CHARS:
        raise FabulaError(Code.TEXT_INVALID, f"A synopsis has from one to {MAX_CHARS} characters. Nothing was changed.")
    return _put(tx, document_id, text.strip(), origin, hash_text(_load_text(tx, document_id)), expected)


def insert_synopses(tx: WriteTransaction, texts: Mapping[str, str], origins: Mapping[str, str] | None = None) -> None:
    """Insert synopses of documents that have none yet."""
    if not any(text.strip() for text in texts.values()):
        return
    tree = _DocumentTree(tx.rows(documents))
    timestamp = current_timestamp()
    rows = [
        {
            "document_id": document_id,
            "text": text.strip(),
            "origin": (origins or {}).get(document_id, "hand"),
            "made_from": hash_text(tree.join_text(document_id)),
            "changed": timestamp,
        }
        for document_id, text in texts.items()
        if text.strip()
    ]
    tx.insert(synopses, *rows)


def remove_synopsis(tx: WriteTransaction, document_id: str) -> bool:
    """Remove a document's synopsis; return whether there was one."""
    tx.require(documents, id=document_id)
    return bool(tx.delete_rows(synopses, synopses.c.document_id == document_id))


def list_synopses(reading: ReadTransaction, characters: CharacterFinder = NO_CHARACTERS) -> list[SynopsisRecord]:
    """All chapters in order, with their stored synopses and states."""
    return [
        make_record(chapter, characters, 0 if row is None else row.version) for chapter, row in _load_chapters(reading)
    ]


def make_record(chapter: Chapter, characters: CharacterFinder = NO_CHARACTERS, version: int = 0) -> SynopsisRecord:
    """The record of a chapter's stored synopsis."""
    synopsis = chapter.stored_synopsis
    if synopsis is None:
        return SynopsisRecord(chapter.id, chapter.title, "missing")
    state: SynopsisState = "stale" if synopsis.is_stale else "fresh"
    missing = characters.find_missing(characters.find_main_characters(chapter.text), synopsis.text)
    return SynopsisRecord(chapter.id, chapter.title, state, synopsis.origin, synopsis.text, version, missing)


def find_current(reading: ReadTransaction, document_id: str) -> list[str]:
    """Those of a document and its ancestors whose synopses match their current texts."""
    current: list[str] = []
    ancestor: str | None = document_id
    while ancestor is not None:
        row = reading.row(synopses, document_id=ancestor)
        if row is not None and row.made_from == hash_text(_load_text(reading, ancestor)):
            current.append(ancestor)
        ancestor = reading.require(documents, id=ancestor).parent_id
    return current


def mark_current(tx: WriteTransaction, document_ids: Iterable[str]) -> None:
    """Declare that the synopses of these documents match their current texts."""
    for document_id in document_ids:
        values = {"made_from": hash_text(_load_text(tx, document_id))}
        tx.update_rows(synopses, values, synopses.c.document_id == document_id)


def refresh_synopses(
    store: Store,
    project_id: str,
    *,
    language: Language = "en",
    summariser: Summariser = extract_summary,
    origin: SynopsisOrigin = "extract",
    characters: CharacterFinder = NO_CHARACTERS,
    document_ids: Sequence[str] | None = None,
    redo_fresh: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> SynopsisRefresh:
    """Make the synopses that are missing or stale, in story order; with `redo_fresh` also those that are fresh.

    A synopsis by hand is kept. Where the origin is a model, an extracted synopsis counts as stale.
    """
    result = SynopsisRefresh()
    with store.read(project=project_id) as reading:
        due = _find_due(reading, result, origin, document_ids, redo_fresh)
    batch: list[_NewSynopsis] = []
    last_write = time.monotonic()
    for number, (document_id, version) in enumerate(due, start=1):
        new = _summarise(store, project_id, document_id, version, language, summariser, characters, result)
        if new is not None:
            batch.append(new)
        is_full = len(batch) >= _BATCH or time.monotonic() - last_write > _BATCH_SECONDS
        if batch and (is_full or number == len(due)):
            _store_batch(store, project_id, batch, origin, result)
            batch, last_write = [], time.monotonic()
        if progress is not None:
            progress(number, len(due))
    return result


class _NewSynopsis(Struct):
    """A synopsis that is not stored yet."""

    document_id: str
    title: str
    text: str
    made_from: str
    version: int  # of the synopsis that it replaces; 0 for none
    missing_characters: tuple[str, ...]


def _find_due(
    reading: ReadTransaction,
    result: SynopsisRefresh,
    origin: SynopsisOrigin,
    document_ids: Sequence[str] | None,
    redo_fresh: bool,
) -> list[tuple[str, int]]:
    """The chapters that need a synopsis, with the version of the one they have."""
    due = []
    selected = None if document_ids is None else set(document_ids)
    for chapter, row in _load_chapters(reading):
        if (selected is not None and chapter.id not in selected) or not chapter.text.strip():
            continue
        is_fresh = row is not None and row.made_from == hash_text(chapter.text)
        if row is not None and row.origin == "hand":
            if not is_fresh:
                result.stale_by_hand.append(chapter.id)
        elif row is None or not is_fresh or redo_fresh or (origin == "model" and row.origin == "extract"):
            due.append((chapter.id, 0 if row is None else int(row.version)))
    return due


def _summarise(
    store: Store,
    project_id: str,
    document_id: str,
    version: int,
    language: Language,
    summariser: Summariser,
    characters: CharacterFinder,
    result: SynopsisRefresh,
) -> _NewSynopsis | None:
    """Summarise one chapter, outside of any transaction; None where the chapter is gone or it failed."""
    with store.read(project=project_id) as reading:
        row = reading.row(documents, id=document_id)
        text = "" if row is None else _load_text(reading, document_id)
    if row is None:
        result.changed_meanwhile.append(document_id)
        return None
    main = characters.find_main_characters(text)
    length, names = choose_synopsis_length(text), list(main.values())
    try:
        summary = summariser(text, language=language, length=length, names=names).strip()
    except FabulaError as error:
        result.failed[document_id] = error.sentence
        return None
    if not summary or len(summary) > MAX_CHARS:
        problem = "nothing came back" if not summary else f"more than {MAX_CHARS} characters came back"
        result.failed[document_id] = problem
        return None
    missing = characters.find_missing(main, summary)
    return _NewSynopsis(document_id, row.title, summary, hash_text(text), version, missing)


def _store_batch(
    store: Store, project_id: str, batch: list[_NewSynopsis], origin: SynopsisOrigin, result: SynopsisRefresh
) -> None:
    """Store new synopses, except where the chapter or its synopsis changed meanwhile."""
    with store.write(project=project_id) as tx:
        for new in batch:
            row = tx.row(synopses, document_id=new.document_id)
            if (
                tx.row(documents, id=new.document_id) is None
                or hash_text(_load_text(tx, new.document_id)) != new.made_from
                or new.version != (row.version if row else 0)
            ):
                result.changed_meanwhile.append(new.document_id)
                continue
            version = _put(tx, new.document_id, new.text, origin, new.made_from, None)
            record = SynopsisRecord(
                new.document_id, new.title, "fresh", origin, new.text, version, new.missing_characters
            )
            result.created.append(record)


def _put(
    tx: WriteTransaction, document_id: str, text: str, origin: SynopsisOrigin, made_from: str, expected: int | None
) -> int:
    values = {"text": text, "origin": origin, "made_from": made_from, "changed": current_timestamp()}
    if tx.row(synopses, document_id=document_id) is None and not expected:
        tx.insert(synopses, {"document_id": document_id, **values})
        return 1
    return tx.update_row(synopses, {"document_id": document_id}, values, expected=expected)


def _load_chapters(reading: ReadTransaction) -> list[tuple[Chapter, Row[Any] | None]]:
    """The chapters of the story with the rows of their synopses, including planned chapters without a text."""
    synopsis_rows = load_rows(reading)
    story = [
        Document(
            row.id,
            row.title,
            row.text,
            kind=DocumentKind(row.kind),
            parent=row.parent_id,
            **synopsis_fields(synopsis_rows.get(row.id)),
        )
        for row in sort_in_reading_order(reading.rows(documents))
        if row.kind != DocumentKind.NOTE
    ]
    chapters = group_into_chapters(story, {document.id: document for document in story})
    return [
        (chapter, synopsis_rows.get(chapter.id))
        for chapter in chapters
        if chapter.documents[0].kind not in CONTAINER_KINDS
    ]


def synopsis_fields(row: Row[Any] | None) -> dict[str, Any]:
    """The fields of a `Document` that come from the row of its synopsis."""
    if row is None:
        return {}
    return {"synopsis": row.text, "synopsis_origin": row.origin, "synopsis_text_hash": row.made_from}


def _load_text(reading: ReadTransaction, document_id: str) -> str:
    """The text of a document and of everything below it."""
    rows = [reading.require(documents, id=document_id)]
    level = [document_id]
    while level:
        children = reading.rows(documents, documents.c.parent_id.in_(level))
        rows += children
        level = [row.id for row in children]
    return _DocumentTree(rows).join_text(document_id)


class _DocumentTree:
    """Joins the texts of a document and of everything below it; notes are not part of it."""

    def __init__(self, rows: Sequence[Row[Any]]) -> None:
        self._rows = {row.id: row for row in rows}
        self._children = group_by_parent(row for row in rows if row.kind != DocumentKind.NOTE)

    def join_text(self, document_id: str) -> str:
        """The text of a document and of everything below it, in reading order."""
        first = self._rows[document_id]
        texts, stack = [], [first]
        while stack:
            row = stack.pop()
            if row is first or first.kind in CONTAINER_KINDS or row.kind not in CONTAINER_KINDS:
                texts.append(row.text)
                stack.extend(reversed(self._children.get(row.id, ())))
        return join_texts(texts)
