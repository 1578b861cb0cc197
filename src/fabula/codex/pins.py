"""Pins: an entry brought in, or kept out, wherever one document or conversation is written (cdx-9)."""

from __future__ import annotations

from fabula.codex.model import Pins, Wish
from fabula.codex.snapshot import pins_at
from fabula.codex.tables import entries, pins
from fabula.codex.validation import refused
from fabula.core.ids import sound_id
from fabula.store.transaction import Reading, Writing, missing


def pin(tx: Writing, where_id: str, entry_id: str, wish: Wish = Wish.INCLUDE) -> None:
    """Bring an entry in, or keep it out, in one document or conversation."""
    if wish not in tuple(Wish) or not sound_id(where_id):
        raise refused("A pin needs the id of a document or conversation, and includes or excludes.")
    tx.need(entries, id=entry_id)
    here = (pins.c.where_id == where_id, pins.c.entry_id == entry_id)
    if not tx.change(pins, {"wish": Wish(wish).value}, *here):
        tx.add(pins, {"where_id": where_id, "entry_id": entry_id, "wish": Wish(wish).value})


def unpin(tx: Writing, where_id: str, entry_id: str) -> None:
    """Leave an entry to its level again."""
    if not tx.remove(pins, pins.c.where_id == where_id, pins.c.entry_id == entry_id):
        raise missing(pins, {"where_id": where_id, "entry_id": entry_id})


def listed(reading: Reading, where_id: str | None = None) -> Pins:
    """Every pin, or those of one document or conversation."""
    return pins_at(reading, None if where_id is None else (where_id,))
