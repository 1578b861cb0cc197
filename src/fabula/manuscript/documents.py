"""Documents: a tree with an order, and the text of each.

Every verb takes the transaction it belongs to, so that several can be one change. A document's version is
its revision: whoever writes a text says which revision it was made from, and a stale one is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Row

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import new_id, now, sound_id
from fabula.manuscript import outline, revisions
from fabula.manuscript.drafts import Book, Draft, Kind
from fabula.manuscript.model import Manuscript
from fabula.manuscript.synopses import editing as synopses
from fabula.manuscript.tables import documents, marks
from fabula.manuscript.tree import children
from fabula.store.anchors import carry
from fabula.store.transaction import Reading, Writing
from fabula.text.offsets import Edit, difference, normalise

DEEPEST = 16
_AT_ONCE = 100
_FIELDS = frozenset({"title", "pov", "happens", "known_to", "notes", "status", "kind"})


def add(
    tx: Writing,
    title: str,
    *,
    kind: Kind = Kind.CHAPTER,
    text: str = "",
    parent: str | None = None,
    place: int | None = None,
    document_id: str | None = None,
    **fields: Any,
) -> str:
    """A new document, at the end of its siblings unless a place is given; its id."""
    chosen = document_id or new_id()
    if not sound_id(chosen):
        raise FabulaError(Code.TREE_INVALID, f"{chosen!r} cannot be the id of a document. Nothing was changed.")
    _check_fields({**fields, "kind": kind})
    _depth(tx, parent)
    number = _make_room(tx, parent, place)
    at = now()
    tx.add(
        documents,
        {
            "id": chosen,
            "parent_id": parent,
            "place": number,
            "kind": Kind(kind).value,
            "title": title.strip(),
            "text": normalise(text),
            "made": at,
            "changed": at,
            **fields,
        },
    )
    return chosen


def add_book(
    tx: Writing, book: Book, *, parent: str | None = None, progress: Callable[[int, int], None] | None = None
) -> list[str]:
    """Everything of an imported manuscript, in order; the new ids."""
    top = _depth(tx, parent)
    start = _make_room(tx, parent, None)
    rows: list[dict[str, Any]] = []
    at = now()

    def take(draft: Draft, above: str | None, place: int, depth: int) -> None:
        _check_depth(depth)
        ident = new_id()
        rows.append(
            {
                "id": ident,
                "parent_id": above,
                "place": place,
                "kind": draft.kind.value,
                "title": draft.title.strip(),
                "text": normalise(draft.text),
                "notes": draft.notes,
                "made": at,
                "changed": at,
            }
        )
        told[ident] = draft
        for number, child in enumerate(draft.children):
            take(child, ident, number, depth + 1)

    told: dict[str, Draft] = {}
    for number, draft in enumerate(book.drafts, start=start):
        take(draft, parent, number, top)
    for start in range(0, len(rows), _AT_ONCE):
        tx.add(documents, *rows[start : start + _AT_ONCE])
        if progress is not None:
            progress(min(start + _AT_ONCE, len(rows)), len(rows))
    for ident, draft in told.items():
        for beat in draft.beats:
            outline.add_beat(tx, ident, beat)
    synopses.write_all(tx, {ident: draft.synopsis for ident, draft in told.items()})
    return list(told)


def copy_in(tx: Writing, manuscript: Manuscript) -> None:
    """Every document of a snapshot under its own id, with beats and synopses."""
    at = now()
    rows = [
        {
            "id": document.id,
            "place": place,
            "kind": document.kind.value,
            "title": document.title,
            "text": document.text,
            "pov": document.pov,
            "happens": document.when,
            "known_to": None if document.known_to is None else sorted(document.known_to),
            "made": at,
            "changed": at,
        }
        for place, document in enumerate((*manuscript.documents, *manuscript.notes))
    ]
    tx.add(documents, *rows)
    for document in manuscript.documents:
        for beat in document.beats:
            outline.add_beat(tx, document.id, beat)
    synopses.write_all(
        tx,
        {document.id: document.synopsis for document in manuscript.documents},
        {document.id: document.synopsis_origin for document in manuscript.documents},
    )


def write(tx: Writing, document_id: str, text: str, *, expected: int | None = None, cause: str = "typed") -> int:
    """Put a new text in place of the old, marks carried along; says the new revision."""
    row = tx.need(documents, id=document_id)
    text = normalise(text)
    edit = difference(row.text, text)
    if row.text == text and expected in (None, row.version):
        return int(row.version)
    version = tx.edit(documents, {"id": document_id}, {"text": text, "changed": now()}, expected=expected)
    revisions.keep(tx, row, cause)
    carry(tx, document_id, edit)
    _carry_marks(tx, document_id, edit)
    return version


def restore(tx: Writing, document_id: str, revision: int, *, expected: int | None = None) -> int:
    """Put an earlier text back; what stood there is kept. Says the new revision."""
    return write(tx, document_id, revisions.text_of(tx, document_id, revision), expected=expected, cause="restored")


def change(tx: Writing, document_id: str, values: Mapping[str, Any], *, expected: int | None = None) -> int:
    """Change what is said about a document, not its text; says the new revision."""
    _check_fields(values)
    return tx.edit(documents, {"id": document_id}, {**values, "changed": now()}, expected=expected)


def move(tx: Writing, document_id: str, *, parent: str | None, place: int | None = None) -> None:
    """Put a document elsewhere in the tree, with everything below it."""
    tx.need(documents, id=document_id)
    _check_depth(_depth(tx, parent, moving=document_id) + len(_levels(tx, document_id)) - 1)
    tx.change(documents, {"place": -1, "parent_id": parent}, documents.c.id == document_id)
    number = _make_room(tx, parent, place, but=document_id)
    tx.change(documents, {"place": number}, documents.c.id == document_id)


def remove(tx: Writing, document_id: str) -> int:
    """Take a document away with everything below it; says how many went."""
    tx.need(documents, id=document_id)
    levels = _levels(tx, document_id)
    for level in reversed(levels):  # from below: what goes by itself with its parent is in no feed
        tx.remove(documents, documents.c.id.in_(sorted(level)))
    return sum(map(len, levels))


def mark(tx: Writing, document_id: str, start: int, end: int, *, run_id: str = "") -> str:
    """Mark a stretch that a model wrote and the writer accepted; the mark's id."""
    row = tx.need(documents, id=document_id)
    if not 0 <= start < end <= len(row.text):
        raise FabulaError(Code.TEXT_INVALID, f"There is no text from {start} to {end} here. Nothing was changed.")
    ident = new_id()
    tx.add(
        marks, {"id": ident, "document_id": document_id, "start": start, "end": end, "run_id": run_id, "made": now()}
    )
    return ident


def book_of(reading: Reading, *, title: str = "", language: str = "") -> Book:
    """The whole manuscript as drafts, to be written in some format."""
    by_parent = children(reading.rows(documents))
    told = synopses.rows_of(reading)
    planned = outline.beats_of(reading)

    def draft(row: Row[Any]) -> Draft:
        return Draft(
            title=row.title,
            kind=Kind(row.kind),
            text=row.text,
            notes=row.notes,
            synopsis=told[row.id].text if row.id in told else "",
            beats=tuple(planned.get(row.id, ())),
            children=tuple(draft(child) for child in by_parent.get(row.id, ())),
        )

    return Book(title=title, language=language, drafts=tuple(draft(row) for row in by_parent.get(None, ())))


def _make_room(tx: Writing, parent: str | None, place: int | None, *, but: str | None = None) -> int:
    """The number of a place among siblings, those behind it moved up by one."""
    siblings = documents.c.parent_id.is_(None) if parent is None else documents.c.parent_id == parent
    there = (siblings,) if but is None else (siblings, documents.c.id != but)
    last = tx.most(documents, "place", *there)
    end = 0 if last is None else last + 1
    if place is None or place >= end or not end:
        return end
    order = tx.rows(documents, *there, order=(documents.c.place, documents.c.id), only=("id", "place"))
    if place >= len(order):
        return end
    number = order[max(place, 0)].place
    tx.change(documents, {"place": documents.c.place + 1}, *there, documents.c.place >= number)
    return int(number)


def _depth(tx: Writing, parent: str | None, *, moving: str | None = None) -> int:
    """How deep a document stands under one that has to exist, and must not be itself."""
    depth, above = 1, parent
    while above is not None:
        if above == moving:
            raise FabulaError(Code.TREE_INVALID, "A document cannot stand below itself. Nothing was changed.")
        above = tx.need(documents, id=above).parent_id
        depth += 1
        _check_depth(depth)
    return depth


def _check_depth(depth: int) -> None:
    if depth > DEEPEST:
        raise FabulaError(Code.TREE_INVALID, f"Documents may stand {DEEPEST} levels deep. Nothing was changed.")


def _levels(tx: Writing, document_id: str) -> list[set[str]]:
    """A document, those right below it, those below them, and so on."""
    rows = tx.rows(documents, only=("id", "parent_id"))
    levels = [{document_id}]
    while below := {row.id for row in rows if row.parent_id in levels[-1]}:
        levels.append(below)
    return levels


def _check_fields(values: Mapping[str, Any]) -> None:
    strange = set(values) - _FIELDS
    if strange:
        raise FabulaError(Code.TREE_INVALID, f"A document has no {', '.join(sorted(strange))}. Nothing was changed.")
    if "kind" in values and values["kind"] not in set(Kind):
        known = ", ".join(Kind)
        raise FabulaError(Code.TREE_INVALID, f"A document is one of {known}. Nothing was changed.")


def _carry_marks(tx: Writing, document_id: str, edit: Edit) -> None:
    """Accepted text stays marked through edits; where a writer rewrote it, the mark shrinks to what is left."""
    here = marks.c.document_id == document_id
    for row in tx.rows(marks, here, marks.c.end > edit.start):
        start = row.start if row.start < edit.start else max(row.start + edit.growth, edit.new_end)
        end = row.end + edit.growth if row.end > edit.old_end else edit.start
        if start >= end:
            tx.remove(marks, here, marks.c.id == row.id)
        elif (start, end) != (row.start, row.end):
            tx.change(marks, {"start": start, "end": end}, here, marks.c.id == row.id)
