"""Stores progressions: facts of an entry that hold from a position on, which the gate hides before it (cdx-4).

The progressions of an entry have an order and are numbered from 1. Each is a fact of its own, and stored knowledge
refers to it by its number. When the order changes, the knowledge moves to the new numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct
from sqlalchemy import Row

from fabula.codex import knowledge
from fabula.codex.entry import Entry, Progression
from fabula.codex.snapshot import progression_from_row
from fabula.codex.tables import entries, progressions
from fabula.codex.validation import apply_values, validate_progression
from fabula.core.ids import new_id
from fabula.store.rows import position_values
from fabula.store.transaction import ReadTransaction, WriteTransaction


class StoredProgression(Struct, frozen=True, kw_only=True):
    """A progression in the store, with its id, number and version."""

    id: str
    number: int  # counted from 1; the fact is `codex:entity:ENTRY#NUMBER`
    progression: Progression
    version: int


def add(tx: WriteTransaction, entry_id: str, progression: Progression, *, index: int | None = None) -> str:
    """Add a progression to an entry and return its id; it comes last unless an index (from 0) is given."""
    progression = validate_progression(progression)
    tx.require(entries, id=entry_id)
    last = tx.max_value(progressions, "place", progressions.c.entry_id == entry_id)
    ident = new_id()
    tx.insert(progressions, _row(entry_id, ident, 0 if last is None else last + 1, progression))
    if index is not None:
        move(tx, ident, index)
    return ident


def update(tx: WriteTransaction, progression_id: str, values: Mapping[str, Any], *, expected: int | None = None) -> int:
    """Change `text`, `since`, `known_to` or `aliases`, and return the new version."""
    before = progression_from_row(tx.require(progressions, id=progression_id))
    progression = validate_progression(apply_values(before, values))
    return tx.update_row(progressions, {"id": progression_id}, _columns(progression), expected=expected)


def move(tx: WriteTransaction, progression_id: str, index: int) -> None:
    """Move a progression to another index, from 0, among those of its entry."""
    rows = _rows(tx, tx.require(progressions, id=progression_id).entry_id)
    order = [row.id for row in rows if row.id != progression_id]
    order.insert(min(max(index, 0), len(order)), progression_id)
    _reorder(tx, rows, order)


def remove(tx: WriteTransaction, progression_id: str) -> None:
    """Remove a progression, and the knowledge of it."""
    rows = _rows(tx, tx.require(progressions, id=progression_id).entry_id)
    tx.delete_rows(progressions, progressions.c.id == progression_id)
    _reorder(tx, rows, [row.id for row in rows if row.id != progression_id])


def list_progressions(reading: ReadTransaction, entry_id: str) -> list[StoredProgression]:
    """List the progressions of an entry in order."""
    return [
        StoredProgression(id=row.id, number=number, progression=progression_from_row(row), version=row.version)
        for number, row in enumerate(_rows(reading, entry_id), start=1)
    ]


def add_for_entries(tx: WriteTransaction, new_entries: Iterable[Entry]) -> None:
    """Store the progressions of new entries."""
    rows = [
        _row(entry.id, new_id(), index, progression)
        for entry in new_entries
        for index, progression in enumerate(entry.progressions)
    ]
    tx.insert(progressions, *rows)


def _reorder(tx: WriteTransaction, rows: list[Row[Any]], order: list[str]) -> None:
    """Store a new order of the rows, and renumber or remove the knowledge of each progression accordingly."""
    indexes = {ident: index for index, ident in enumerate(order)}
    new_numbers: dict[int, int | None] = {}
    for number, row in enumerate(rows, start=1):
        index = indexes.get(row.id)
        if index is None:
            new_numbers[number] = None
            continue
        if index + 1 != number:
            new_numbers[number] = index + 1
        if index != row.place:
            tx.update_rows(progressions, {"place": index}, progressions.c.id == row.id)
    knowledge.renumber(tx, rows[0].entry_id, new_numbers)


def _rows(reading: ReadTransaction, entry_id: str) -> list[Row[Any]]:
    order = (progressions.c.place, progressions.c.id)
    return list(reading.rows(progressions, progressions.c.entry_id == entry_id, order=order))


def _row(entry_id: str, ident: str, index: int, progression: Progression) -> dict[str, Any]:
    return {"id": ident, "entry_id": entry_id, "place": index, **_columns(progression)}


def _columns(progression: Progression) -> dict[str, Any]:
    return {
        "text": progression.text,
        **position_values("since", progression.since),
        "known_to": None if progression.known_to is None else sorted(progression.known_to),
        "aliases": progression.aliases,
    }
