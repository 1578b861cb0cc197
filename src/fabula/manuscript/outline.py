"""The outline: beats that say what should happen in each document, ticked off as they are written (man-1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import new_id
from fabula.core.messages import join_names, message
from fabula.manuscript.tables import beats
from fabula.store.transaction import ReadTransaction, WriteTransaction

_FIELDS = {"text", "place", "done"}


def add_beat(tx: WriteTransaction, document_id: str, text: str) -> str:
    """Add a beat as the last of its document; its id."""
    words = _check_words(text)
    last = tx.max_value(beats, "place", beats.c.document_id == document_id)
    beat_id = new_id()
    place = 0 if last is None else last + 1
    tx.insert(beats, {"id": beat_id, "document_id": document_id, "place": place, "text": words})
    return beat_id


def update_beat(tx: WriteTransaction, beat_id: str, values: Mapping[str, Any], *, expected: int | None = None) -> int:
    """Reword a beat, move it, or tick it off (`done`); return its new version."""
    unknown = set(values) - _FIELDS
    if unknown:
        names = join_names(sorted(unknown))
        raise FabulaError(Code.TEXT_INVALID, message("A beat has no {names}. Nothing was changed.", names=names))
    stored: dict[str, Any] = {name: int(value) if isinstance(value, bool) else value for name, value in values.items()}
    if "text" in values:
        stored["text"] = _check_words(values["text"])
    return tx.update_row(beats, {"id": beat_id}, stored, expected=expected)


def reorder_beats(tx: WriteTransaction, order: Sequence[str]) -> None:
    """Give the beats of one document the places of this order."""
    for place, beat_id in enumerate(order):
        if tx.require(beats, id=beat_id).place != place:
            tx.update_row(beats, {"id": beat_id}, {"place": place})


def remove_beat(tx: WriteTransaction, beat_id: str) -> None:
    """Remove a beat."""
    tx.require(beats, id=beat_id)
    tx.delete_rows(beats, beats.c.id == beat_id)


def load_beats(
    reading: ReadTransaction, document_ids: list[str] | None = None, *, open_only: bool = False
) -> dict[str, list[str]]:
    """The beats of all documents, or of some, in order."""
    by_document: dict[str, list[str]] = {}
    where = [beats.c.done == 0] if open_only else []
    if document_ids is not None:
        where.append(beats.c.document_id.in_(document_ids))
    for row in reading.rows(beats, *where, order=(beats.c.document_id, beats.c.place, beats.c.id)):
        by_document.setdefault(row.document_id, []).append(row.text)
    return by_document


def _check_words(text: str) -> str:
    """Return the words of a beat without blanks around them; refuse none."""
    if not text.strip():
        raise FabulaError(Code.TEXT_INVALID, message("A beat needs a few words. Nothing was changed."))
    return text.strip()
