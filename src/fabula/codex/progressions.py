"""Progressions: what becomes true of an entry, in the order in which it is told (cdx-4).

Each is a fact of its own, known among facts by its number. When one goes or is put between others, what is
known of the others keeps up with their numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Row

from fabula.codex import knowledge
from fabula.codex.model import Entry, Progression
from fabula.codex.snapshot import step_of
from fabula.codex.tables import entries, progressions
from fabula.codex.validation import checked_step, refused
from fabula.core.ids import new_id
from fabula.store.transaction import Reading, Writing


class Step(Struct, frozen=True, kw_only=True):
    """A progression as the store keeps it."""

    id: str
    number: int  # from 1: `codex:entity:ENTRY#NUMBER` among facts
    progression: Progression
    version: int


def add(tx: Writing, entry_id: str, step: Progression, *, place: int | None = None) -> str:
    """Something that becomes true, behind the others unless a place (from 0) is given; its id."""
    step = checked_step(step)
    tx.need(entries, id=entry_id)
    last = tx.most(progressions, "place", progressions.c.entry_id == entry_id)
    ident = new_id()
    tx.add(progressions, _row(entry_id, ident, 0 if last is None else last + 1, step))
    if place is not None:
        move(tx, ident, place)
    return ident


def update(tx: Writing, progression_id: str, values: Mapping[str, Any], *, expected: int | None = None) -> int:
    """Change text, since, known_to or aliases; says the new version."""
    before = step_of(tx.need(progressions, id=progression_id))
    fields = {name: getattr(before, name) for name in Progression.__struct_fields__}
    strange = set(values) - set(fields)
    if strange:
        raise refused(f"A progression has no {', '.join(sorted(strange))}.")
    try:
        step = msgspec.convert({**fields, **values}, Progression)
    except msgspec.ValidationError as error:
        raise refused(f"The progression cannot be changed like this: {error}.") from error
    step = checked_step(step)
    return tx.edit(progressions, {"id": progression_id}, _columns(step), expected=expected)


def move(tx: Writing, progression_id: str, place: int) -> None:
    """Put a progression elsewhere among those of its entry, counted from 0."""
    entry_id = tx.need(progressions, id=progression_id).entry_id
    rows = _rows(tx, entry_id)
    order = [row.id for row in rows if row.id != progression_id]
    order.insert(min(max(place, 0), len(order)), progression_id)
    _reorder(tx, rows, order)


def remove(tx: Writing, progression_id: str) -> None:
    """Take a progression away, and with it who knew of it."""
    entry_id = tx.need(progressions, id=progression_id).entry_id
    rows = _rows(tx, entry_id)
    tx.remove(progressions, progressions.c.id == progression_id)
    _reorder(tx, rows, [row.id for row in rows if row.id != progression_id])


def listed(reading: Reading, entry_id: str) -> list[Step]:
    """The progressions of an entry, in order."""
    return [
        Step(id=row.id, number=number, progression=step_of(row), version=row.version)
        for number, row in enumerate(_rows(reading, entry_id), start=1)
    ]


def add_all(tx: Writing, many: Iterable[Entry]) -> None:
    """The progressions of new entries."""
    rows = [_row(entry.id, new_id(), place, step) for entry in many for place, step in enumerate(entry.progressions)]
    tx.add(progressions, *rows)


def _reorder(tx: Writing, rows: list[Row[Any]], order: list[str]) -> None:
    """Places and numbers follow a new order; what is not in it any more has lost its number."""
    places = {ident: place for place, ident in enumerate(order)}
    moves: dict[int, int | None] = {}
    for number, row in enumerate(rows, start=1):
        place = places.get(row.id)
        if place is None:
            moves[number] = None
            continue
        if place + 1 != number:
            moves[number] = place + 1
        if place != row.place:
            tx.change(progressions, {"place": place}, progressions.c.id == row.id)
    knowledge.renumber(tx, rows[0].entry_id, moves)


def _rows(reading: Reading, entry_id: str) -> list[Row[Any]]:
    order = (progressions.c.place, progressions.c.id)
    return list(reading.rows(progressions, progressions.c.entry_id == entry_id, order=order))


def _row(entry_id: str, ident: str, place: int, step: Progression) -> dict[str, Any]:
    return {"id": ident, "entry_id": entry_id, "place": place, **_columns(step)}


def _columns(step: Progression) -> dict[str, Any]:
    return {
        "text": step.text,
        "since_document": step.since.document,
        "since_offset": step.since.offset,
        "known_to": None if step.known_to is None else sorted(step.known_to),
        "aliases": step.aliases,
    }
