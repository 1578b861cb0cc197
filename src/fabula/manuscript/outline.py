"""The outline: what should happen in each document, ticked off as it is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import new_id
from fabula.manuscript.tables import beats
from fabula.store.transaction import Reading, Writing

_FIELDS = frozenset({"text", "place", "done"})


def add_beat(tx: Writing, document_id: str, text: str) -> str:
    """Something that should happen, after what should happen before it; its id."""
    if not text.strip():
        raise FabulaError(Code.TEXT_INVALID, "A beat needs a few words. Nothing was changed.")
    last = tx.most(beats, "place", beats.c.document_id == document_id)
    ident = new_id()
    place = 0 if last is None else last + 1
    tx.add(beats, {"id": ident, "document_id": document_id, "place": place, "text": text.strip()})
    return ident


def change_beat(tx: Writing, beat_id: str, values: Mapping[str, Any], *, expected: int | None = None) -> int:
    """Reword a beat, move it, or tick it off (`done`)."""
    strange = set(values) - _FIELDS
    if strange:
        raise FabulaError(Code.TEXT_INVALID, f"A beat has no {', '.join(sorted(strange))}. Nothing was changed.")
    done = {"done": int(values["done"])} if "done" in values else {}
    return tx.edit(beats, {"id": beat_id}, {**values, **done}, expected=expected)


def remove_beat(tx: Writing, beat_id: str) -> None:
    """Take a beat out of the plan."""
    tx.need(beats, id=beat_id)
    tx.remove(beats, beats.c.id == beat_id)


def beats_of(reading: Reading, only: list[str] | None = None, *, open_only: bool = False) -> dict[str, list[str]]:
    """The beats of every document, or of some, in order."""
    found: dict[str, list[str]] = {}
    where = [beats.c.done == 0] if open_only else []
    if only is not None:
        where.append(beats.c.document_id.in_(only))
    for row in reading.rows(beats, *where, order=(beats.c.document_id, beats.c.place, beats.c.id)):
        found.setdefault(row.document_id, []).append(row.text)
    return found
