"""Merge two documents into one, and split one into two.

What belongs to a text goes with it: positions such as "since", marks of accepted text, beats and documents below it.
A synopsis that a program made is removed where its text is no longer the same; one by hand stays, and counts as stale.
"""

from __future__ import annotations

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.manuscript import documents
from fabula.manuscript.drafts import DocumentKind
from fabula.manuscript.tables import beats, marks, synopses
from fabula.manuscript.tables import documents as rows
from fabula.store.anchors import transfer_positions
from fabula.store.transaction import WriteTransaction

SEPARATOR = "\n\n"


def merge(tx: WriteTransaction, first_id: str, second_id: str) -> int:
    """Append the second document to the first, and remove the second; return the new revision of the first."""
    first, second = tx.require(rows, id=first_id), tx.require(rows, id=second_id)
    if first_id == second_id or second_id in _list_above(tx, first_id):
        raise FabulaError(
            Code.TREE_INVALID,
            message("A chapter can be merged with another one only, not with one that holds it. Nothing was changed."),
        )
    head, tail = first.text.rstrip(), second.text
    joined = head + (SEPARATOR if head and tail else "")
    shift = len(joined)
    revision = documents.write(tx, first_id, joined + tail, cause="merged")
    transfer_positions(tx, second_id, first_id, shift=shift)
    in_second = marks.c.document_id == second_id
    for mark in tx.rows(marks, in_second):
        values = {"document_id": first_id, "start": mark.start + shift, "end": mark.end + shift}
        tx.update_rows(marks, values, marks.c.id == mark.id)
    last = tx.max_value(beats, "place", beats.c.document_id == first_id)
    offset = 0 if last is None else last + 1
    tx.update_rows(beats, {"document_id": first_id, "place": beats.c.place + offset}, beats.c.document_id == second_id)
    _merge_synopses(tx, first_id, second_id)
    for child in tx.rows(rows, rows.c.parent_id == second_id, order=(rows.c.place, rows.c.id)):
        documents.move(tx, child.id, parent=first_id)
    documents.remove(tx, second_id)
    return revision


def split(tx: WriteTransaction, document_id: str, offset: int, title: str) -> str:
    """Make a new document, right after this one, of the text from an offset on; return its id."""
    row = tx.require(rows, id=document_id)
    head, rest = row.text[:offset].rstrip(), row.text[offset:]
    tail = rest.lstrip()
    if not head or not tail:
        raise FabulaError(
            Code.TEXT_INVALID,
            message("A chapter is split between its words: name a place inside its text. Nothing was changed."),
        )
    cut = len(row.text) - len(tail)
    siblings = rows.c.parent_id.is_(None) if row.parent_id is None else rows.c.parent_id == row.parent_id
    order = [one.id for one in tx.rows(rows, siblings, order=(rows.c.place, rows.c.id), only=("id",))]
    fields = {name: getattr(row, name) for name in ("pov", "happens", "known_to", "status")}
    new_id = documents.add(
        tx,
        title,
        kind=DocumentKind(row.kind),
        text=tail,
        parent=row.parent_id,
        index=order.index(document_id) + 1,
        **fields,
    )
    transfer_positions(tx, document_id, new_id, first=offset, shift=-cut)
    for mark in tx.rows(marks, marks.c.document_id == document_id, marks.c.end > cut):
        moved = {"document_id": new_id, "start": max(mark.start - cut, 0), "end": mark.end - cut}
        if mark.start >= cut:
            tx.update_rows(marks, moved, marks.c.id == mark.id)
        else:  # the part before the cut shrinks with the text
            documents.mark_accepted(tx, new_id, moved["start"], moved["end"], run_id=mark.run_id)
    # What is still open is yet to be written, so it belongs to the later part.
    tx.update_rows(beats, {"document_id": new_id}, beats.c.document_id == document_id, beats.c.done == 0)
    tx.delete_rows(synopses, synopses.c.document_id == document_id, synopses.c.origin != "hand")
    documents.write(tx, document_id, head, cause="split")
    return new_id


def _merge_synopses(tx: WriteTransaction, first_id: str, second_id: str) -> None:
    """Join two synopses if a person wrote one of them; otherwise a program makes a new one."""
    both = [row for one in (first_id, second_id) if (row := tx.row(synopses, document_id=one)) is not None]
    tx.delete_rows(synopses, synopses.c.document_id.in_([first_id, second_id]))
    if any(row.origin == "hand" for row in both):
        joined = {"document_id": first_id, "text": SEPARATOR.join(row.text for row in both), "origin": "hand"}
        tx.insert(synopses, {**joined, "changed": max(row.changed for row in both)})


def _list_above(tx: WriteTransaction, document_id: str) -> list[str]:
    above: list[str] = []
    parent = tx.require(rows, id=document_id).parent_id
    while parent is not None:
        above.append(parent)
        parent = tx.require(rows, id=parent).parent_id
    return above
