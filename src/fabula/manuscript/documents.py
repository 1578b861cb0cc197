"""Documents: add, write, move, restore and remove the documents of a project, which form an ordered tree.

Every function takes the transaction it belongs to, so that several can be one change. A document's version is its
revision: whoever writes a text names the revision it was made from, and a stale one is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Row

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp, is_valid_id, new_id
from fabula.core.messages import Sentence, join_names, message
from fabula.manuscript import outline, revisions
from fabula.manuscript.drafts import DocumentDraft, DocumentKind, ManuscriptDraft
from fabula.manuscript.model import Document, Manuscript
from fabula.manuscript.snapshot import group_by_parent, load_synopsis_rows
from fabula.manuscript.synopses import editing as synopses
from fabula.manuscript.synopses.chapters import Synopsis
from fabula.manuscript.tables import documents, marks
from fabula.store.anchors import move_positions
from fabula.store.rows import read_struct
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.text.diff import TextEdit, find_edits, map_range
from fabula.text.offsets import normalise

MAX_DEPTH = 16
_BATCH = 100
_FIELDS = {"title", "pov", "happens", "known_to", "notes", "status", "kind"}


def add(
    tx: WriteTransaction,
    title: str,
    *,
    kind: DocumentKind = DocumentKind.CHAPTER,
    text: str = "",
    parent: str | None = None,
    index: int | None = None,
    document_id: str | None = None,
    **fields: Any,
) -> str:
    """Add a document, as the last of its siblings unless an index is given; its id."""
    document_id = document_id or new_id()
    if not is_valid_id(document_id):
        raise _refused(message("{document!r} cannot be the id of a document.", document=document_id))
    _check_fields({**fields, "kind": kind})
    _find_depth(tx, parent)
    draft = DocumentDraft(title=title, kind=DocumentKind(kind), text=text)
    tx.insert(documents, {**_make_row(draft, document_id, _insert_place(tx, parent, index), parent), **fields})
    return document_id


def add_draft(
    tx: WriteTransaction,
    draft: ManuscriptDraft,
    *,
    parent: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[str]:
    """Add all documents of an imported manuscript, in order; their ids."""
    top_depth = _find_depth(tx, parent)
    first_place = _insert_place(tx, parent, None)
    rows: list[dict[str, Any]] = []
    drafts: dict[str, DocumentDraft] = {}

    def collect(document: DocumentDraft, above: str | None, place: int, depth: int) -> None:
        _check_depth(depth)
        document_id = new_id()
        rows.append({**_make_row(document, document_id, place, above), "notes": document.notes})
        drafts[document_id] = document
        for number, child in enumerate(document.children):
            collect(child, document_id, number, depth + 1)

    for place, document in enumerate(draft.drafts, start=first_place):
        collect(document, parent, place, top_depth)
    for start in range(0, len(rows), _BATCH):
        tx.insert(documents, *rows[start : start + _BATCH])
        if progress is not None:
            progress(min(start + _BATCH, len(rows)), len(rows))
    _add_beats(tx, drafts)
    synopses.insert_synopses(tx, {one: Synopsis(document.synopsis, "hand") for one, document in drafts.items()})
    return list(drafts)


def copy_manuscript(tx: WriteTransaction, manuscript: Manuscript) -> None:
    """Insert every document of a snapshot under its own id, with beats and synopses."""
    rows = [
        {
            **_make_row(document, document.id, place),
            "pov": document.pov,
            "happens": document.story_time,
            "known_to": None if document.known_to is None else sorted(document.known_to),
        }
        for place, document in enumerate((*manuscript.documents, *manuscript.notes))
    ]
    tx.insert(documents, *rows)
    _add_beats(tx, {document.id: document for document in manuscript.documents})
    copied = {document.id: Synopsis(document.synopsis, document.synopsis_origin) for document in manuscript.documents}
    synopses.insert_synopses(tx, copied)


def write(
    tx: WriteTransaction, document_id: str, text: str, *, expected: int | None = None, cause: str = "typed"
) -> int:
    """Replace the text of a document; positions and marks in it move along. Return the new revision."""
    row = tx.require(documents, id=document_id)
    text = normalise(text)
    if row.text == text and expected in (None, row.version):
        return int(row.version)
    version = tx.update_row(
        documents, {"id": document_id}, {"text": text, "changed": current_timestamp()}, expected=expected
    )
    revisions.record(tx, row, cause)
    edits = find_edits(row.text, text)
    move_positions(tx, document_id, edits)
    _move_marks(tx, document_id, text, edits)
    return version


def restore(tx: WriteTransaction, document_id: str, revision: int, *, expected: int | None = None) -> int:
    """Replace the text with that of an earlier revision; the current text is recorded. Return the new revision."""
    return write(tx, document_id, revisions.load_text(tx, document_id, revision), expected=expected, cause="restored")


def update(tx: WriteTransaction, document_id: str, values: Mapping[str, Any], *, expected: int | None = None) -> int:
    """Change the fields of a document, but not its text; return the new revision."""
    _check_fields(values)
    return tx.update_row(documents, {"id": document_id}, {**values, "changed": current_timestamp()}, expected=expected)


def move(tx: WriteTransaction, document_id: str, *, parent: str | None, index: int | None = None) -> None:
    """Move a document within the tree, with everything below it."""
    tx.require(documents, id=document_id)
    _check_depth(_find_depth(tx, parent, moving=document_id) + len(_levels(tx, document_id)) - 1)
    place = _insert_place(tx, parent, index, moving=document_id)
    tx.update_rows(documents, {"place": place, "parent_id": parent}, documents.c.id == document_id)


def remove(tx: WriteTransaction, document_id: str) -> int:
    """Remove a document with everything below it; return how many were removed."""
    tx.require(documents, id=document_id)
    levels = _levels(tx, document_id)
    for level in reversed(levels):  # from the lowest: rows that a cascade deletes are not in the change feed
        tx.delete_rows(documents, documents.c.id.in_(sorted(level)))
    return sum(map(len, levels))


def mark_accepted(tx: WriteTransaction, document_id: str, start: int, end: int, *, run_id: str = "") -> str:
    """Mark a range of text that a model wrote and the writer accepted; the id of the mark (man-2)."""
    row = tx.require(documents, id=document_id)
    if not 0 <= start < end <= len(row.text):
        raise FabulaError(
            Code.TEXT_INVALID,
            message("This document has no text from {start} to {end}. Nothing was changed.", start=start, end=end),
        )
    mark = {"id": new_id(), "document_id": document_id, "start": start, "end": end, "run_id": run_id}
    tx.insert(marks, {**mark, "made": current_timestamp()})
    return str(mark["id"])


def make_draft(reading: ReadTransaction, *, title: str = "", language: str = "") -> ManuscriptDraft:
    """The whole manuscript as drafts, for an export."""
    by_parent = group_by_parent(reading.rows(documents))
    texts = {document_id: row.text for document_id, row in load_synopsis_rows(reading).items()}
    beat_texts = outline.load_beats(reading)

    def draft(row: Row[Any]) -> DocumentDraft:
        children = tuple(draft(child) for child in by_parent.get(row.id, ()))
        beats = tuple(beat_texts.get(row.id, ()))
        return read_struct(DocumentDraft, row, synopsis=texts.get(row.id, ""), beats=beats, children=children)

    return ManuscriptDraft(title=title, language=language, drafts=tuple(draft(row) for row in by_parent.get(None, ())))


def _make_row(
    document: Document | DocumentDraft, document_id: str, place: int, parent: str | None = None
) -> dict[str, Any]:
    timestamp = current_timestamp()
    return {
        "id": document_id,
        "parent_id": parent,
        "place": place,
        "kind": document.kind.value,
        "title": document.title.strip(),
        "text": normalise(document.text),
        "made": timestamp,
        "changed": timestamp,
    }


def _add_beats(tx: WriteTransaction, added: Mapping[str, Document | DocumentDraft]) -> None:
    for document_id, document in added.items():
        for beat in document.beats:
            outline.add_beat(tx, document_id, beat)


def _insert_place(tx: WriteTransaction, parent: str | None, index: int | None, *, moving: str | None = None) -> int:
    """The place number for an index among the siblings; those from there on are moved up by one."""
    siblings = documents.c.parent_id.is_(None) if parent is None else documents.c.parent_id == parent
    others = (siblings,) if moving is None else (siblings, documents.c.id != moving)
    if index is None or max(index, 0) >= tx.count(documents, *others):
        last = tx.max_value(documents, "place", *others)
        return 0 if last is None else last + 1
    rows = tx.rows(documents, *others, order=(documents.c.place, documents.c.id), only=("place",))
    place = rows[max(index, 0)].place
    tx.update_rows(documents, {"place": documents.c.place + 1}, *others, documents.c.place >= place)
    return int(place)


def _find_depth(tx: WriteTransaction, parent: str | None, *, moving: str | None = None) -> int:
    """The depth of a document below a parent; the parent must exist and must not be below the document itself."""
    depth, above = 1, parent
    while above is not None:
        if above == moving:
            raise _refused(message("A document cannot be below itself."))
        above = tx.require(documents, id=above).parent_id
        depth += 1
        _check_depth(depth)
    return depth


def _check_depth(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise _refused(message("Documents can be {depth} levels deep at most.", depth=MAX_DEPTH))


def _levels(tx: WriteTransaction, document_id: str) -> list[set[str]]:
    """The ids of a document, of its children, of their children, and so on."""
    rows = tx.rows(documents, only=("id", "parent_id"))
    levels = [{document_id}]
    while below := {row.id for row in rows if row.parent_id in levels[-1]}:
        levels.append(below)
    return levels


def _check_fields(values: Mapping[str, Any]) -> None:
    unknown = set(values) - _FIELDS
    if unknown:
        raise _refused(message("A document has no {names}.", names=join_names(sorted(unknown))))
    if "kind" in values and values["kind"] not in set(DocumentKind):
        raise _refused(message("A document is one of these: {kinds}.", kinds=join_names(list(DocumentKind))))


def _refused(sentence: Sentence) -> FabulaError:
    return FabulaError(Code.TREE_INVALID, message("{sentence} Nothing was changed.", sentence=sentence))


def _move_marks(tx: WriteTransaction, document_id: str, text: str, edits: Sequence[TextEdit]) -> None:
    """Move the marks of accepted text as the text moved; a mark shrinks to the words that were not rewritten."""
    in_document = marks.c.document_id == document_id
    for row in tx.rows(marks, in_document):
        start, end = map_range(edits, row.start, row.end)
        if not text[start:end].strip():
            tx.delete_rows(marks, in_document, marks.c.id == row.id)
        elif (start, end) != (row.start, row.end):
            tx.update_rows(marks, {"start": start, "end": end}, in_document, marks.c.id == row.id)
