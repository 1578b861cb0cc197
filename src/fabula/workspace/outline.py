"""What a person can do with the outline: list, add, reword, order, tick off and remove beats (man-1)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.manuscript import outline
from fabula.manuscript.snapshot import sort_in_reading_order
from fabula.manuscript.tables import beats, documents
from fabula.store.transaction import ReadTransaction
from fabula.text.lookup import find_by_name
from fabula.workspace.story_places import find_chapter
from fabula.workspace.verbs import ProjectVerbs, label_addition, label_change, label_removal


class Beat(Struct, frozen=True, kw_only=True):
    """Something that should happen in a document."""

    id: str
    document_id: str
    text: str
    is_done: bool


class OutlineVerbs(ProjectVerbs):
    """The outline of an open project."""

    def list_beats(self, document: str | None = None) -> list[Beat]:
        """List beats, document by document in the order of the story; of one document, or of all."""
        with self._read() as reading:
            return _load(reading, None if document is None else find_chapter(reading, document))

    def add(self, document: str, text: str) -> Beat:
        """Plan something in a document, after all that is planned there already."""
        with self._write(label_addition(message("beat"), text)) as tx:
            beat_id = outline.add_beat(tx, find_chapter(tx, document), text)
            return _find(tx, beat_id)

    def edit(self, beat: str, text: str) -> Beat:
        """Put a beat in other words."""
        with self._write(label_change(message("beat"), beat)) as tx:
            found = _find(tx, beat)
            tx.undo_label = label_change(message("beat"), found.text)
            outline.update_beat(tx, found.id, {"text": text})
            return _find(tx, found.id)

    def reorder(self, document: str, items: Sequence[str]) -> list[Beat]:
        """Put the beats of a document in another order; `items` names each of them once."""
        with self._write(label_change(message("outline"), document)) as tx:
            ident = find_chapter(tx, document)
            tx.undo_label = label_change(message("outline"), tx.require(documents, id=ident).title)
            known = _load(tx, ident)
            order = [_find_in(known, item).id for item in items]
            if sorted(order) != sorted(one.id for one in known):
                raise FabulaError(
                    Code.REQUEST_INVALID,
                    message("Name each of the {count} beats once. Nothing was changed.", count=len(known)),
                )
            outline.reorder_beats(tx, order)
            return _load(tx, ident)

    def set_done(self, beat: str, *, done: bool = True) -> Beat:
        """Tick a beat off, or open it again."""
        with self._write(label_change(message("beat"), beat)) as tx:
            found = _find(tx, beat)
            tx.undo_label = label_change(message("beat"), found.text)
            outline.update_beat(tx, found.id, {"done": done})
            return _find(tx, found.id)

    def remove(self, beat: str) -> Beat:
        """Remove a beat; return what it was."""
        with self._write(label_removal(message("beat"), beat)) as tx:
            found = _find(tx, beat)
            tx.undo_label = label_removal(message("beat"), found.text)
            outline.remove_beat(tx, found.id)
            return found


def _load(reading: ReadTransaction, document_id: str | None = None) -> list[Beat]:
    order = {row.id: number for number, row in enumerate(sort_in_reading_order(reading.rows(documents)))}
    where = () if document_id is None else (beats.c.document_id == document_id,)
    rows = reading.rows(beats, *where, order=(beats.c.place, beats.c.id))
    return [
        Beat(id=row.id, document_id=row.document_id, text=row.text, is_done=bool(row.done))
        for row in sorted(rows, key=lambda row: order.get(row.document_id, len(order)))
    ]


def _find(reading: ReadTransaction, beat: str) -> Beat:
    """Return the beat of that id, or whose id or text begins so."""
    return _find_in(_load(reading), beat)


def _find_in(known: Sequence[Beat], beat: str) -> Beat:
    return find_by_name(known, beat, what=message("beat"), names_of=lambda one: (one.text,))
