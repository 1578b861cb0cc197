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
from msgspec.structs import replace
from sqlalchemy import Row

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp
from fabula.core.messages import Sentence, message
from fabula.core.view import Language
from fabula.manuscript.drafts import DocumentKind
from fabula.manuscript.model import hash_text
from fabula.manuscript.snapshot import group_by_parent, load_manuscript, load_synopsis_rows
from fabula.manuscript.synopses.chapters import CONTAINER_KINDS, Chapter, Synopsis, group_into_chapters, join_texts
from fabula.manuscript.tables import documents, synopses
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
    failed: dict[str, Sentence] = field(default_factory=dict)  # with the reason

    @property
    def missing_characters(self) -> dict[str, tuple[str, ...]]:
        """Main characters that a new synopsis does not name, by chapter."""
        return {record.document_id: record.missing_characters for record in self.created if record.missing_characters}


def write_synopsis(
    tx: WriteTransaction, document_id: str, text: str, *, origin: SynopsisOrigin = "hand", expected: int | None = None
) -> int:
    """Store a synopsis of a document with the hash of its current text; return the new version."""
    if not text.strip() or len(text) > MAX_CHARS:
        raise FabulaError(
            Code.TEXT_INVALID,
            message("A synopsis has 1 to {limit} characters. Nothing was changed.", limit=MAX_CHARS),
        )
    row = _make_row(document_id, text.strip(), origin, hash_text(_load_text(tx, document_id)))
    return _put(tx, row, expected)


def insert_synopses(tx: WriteTransaction, new: Mapping[str, Synopsis]) -> None:
    """Insert synopses of documents that have none yet."""
    written = {document_id: synopsis for document_id, synopsis in new.items() if synopsis.text.strip()}
    if not written:
        return
    rows = tx.rows(documents)
    by_id, by_parent = {row.id: row for row in rows}, group_by_parent(rows)
    hashes = {document_id: hash_text(_join_text(by_id[document_id], by_parent)) for document_id in written}
    new_rows = [_make_row(one, written[one].text.strip(), written[one].origin, hashes[one]) for one in written]
    tx.insert(synopses, *new_rows)


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
    batch: list[tuple[SynopsisRecord, str]] = []
    last_write = time.monotonic()
    for number, (document_id, version) in enumerate(due, start=1):
        with store.read(project=project_id) as reading:
            row = reading.row(documents, id=document_id)
            text = "" if row is None else _load_text(reading, document_id)
        main = characters.find_main_characters(text)
        if row is None:
            result.changed_meanwhile.append(document_id)
        else:
            try:
                summary = _summarise(summariser, text, language, list(main.values()))
                missing = characters.find_missing(main, summary)
                new = SynopsisRecord(document_id, row.title, "fresh", origin, summary, version, missing)
                batch.append((new, hash_text(text)))
            except FabulaError as error:
                result.failed[document_id] = error.message
        is_full = len(batch) >= _BATCH or time.monotonic() - last_write > _BATCH_SECONDS
        if batch and (is_full or number == len(due)):
            _store_batch(store, project_id, batch, result)
            batch, last_write = [], time.monotonic()
        if progress is not None:
            progress(number, len(due))
    return result


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


def _summarise(summariser: Summariser, text: str, language: Language, names: list[str]) -> str:
    """Summarise a chapter, outside of any transaction."""
    summary = summariser(text, language=language, length=choose_synopsis_length(text), names=names).strip()
    if not summary:
        raise FabulaError(Code.LLM_ANSWER_INVALID, message("The synopsis that came back is empty."))
    if len(summary) > MAX_CHARS:
        raise FabulaError(
            Code.LLM_ANSWER_INVALID,
            message("The synopsis that came back has more than {limit} characters.", limit=MAX_CHARS),
        )
    return summary


def _store_batch(
    store: Store, project_id: str, batch: Sequence[tuple[SynopsisRecord, str]], result: SynopsisRefresh
) -> None:
    """Store new synopses with their hashes, except where the chapter or its synopsis changed meanwhile.

    The version of a new record is that of the synopsis it replaces; 0 for none.
    """
    with store.write(project=project_id) as tx:
        for new, source_hash in batch:
            row = tx.row(synopses, document_id=new.document_id)
            if (
                tx.row(documents, id=new.document_id) is None
                or hash_text(_load_text(tx, new.document_id)) != source_hash
                or new.version != (row.version if row else 0)
            ):
                result.changed_meanwhile.append(new.document_id)
                continue
            version = _put(tx, _make_row(new.document_id, new.text, new.origin, source_hash))
            result.created.append(replace(new, version=version))


def _make_row(document_id: str, text: str, origin: str | None, source_hash: str) -> dict[str, Any]:
    values = {"document_id": document_id, "text": text, "origin": origin, "made_from": source_hash}
    return {**values, "changed": current_timestamp()}


def _put(tx: WriteTransaction, row: Mapping[str, Any], expected: int | None = None) -> int:
    key = {"document_id": row["document_id"]}
    if tx.row(synopses, **key) is None and not expected:
        tx.insert(synopses, row)
        return 1
    return tx.update_row(synopses, key, row, expected=expected)


def _load_chapters(reading: ReadTransaction) -> list[tuple[Chapter, Row[Any] | None]]:
    """The chapters of the story with the rows of their synopses, including planned chapters without a text."""
    manuscript, synopsis_rows = load_manuscript(reading), load_synopsis_rows(reading)
    return [
        (chapter, synopsis_rows.get(chapter.id))
        for chapter in group_into_chapters(manuscript.documents, manuscript.by_id)
        if chapter.documents[0].kind not in CONTAINER_KINDS
    ]


def _load_text(reading: ReadTransaction, document_id: str) -> str:
    """The text of a document and of everything below it."""
    first = reading.require(documents, id=document_id)
    rows: list[Row[Any]] = []
    level = [document_id]
    while level:
        below = reading.rows(documents, documents.c.parent_id.in_(level))
        rows += below
        level = [row.id for row in below]
    return _join_text(first, group_by_parent(rows))


def _join_text(first: Row[Any], by_parent: Mapping[str | None, Sequence[Row[Any]]]) -> str:
    """The text of a document and of everything below it, in reading order; notes are not part of it."""
    excluded = {DocumentKind.NOTE, *(() if first.kind in CONTAINER_KINDS else CONTAINER_KINDS)}
    texts, stack = [], [first]
    while stack:
        row = stack.pop()
        texts.append(row.text)
        stack += reversed([child for child in by_parent.get(row.id, ()) if child.kind not in excluded])
    return join_texts(texts)
