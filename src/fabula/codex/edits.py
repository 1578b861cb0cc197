"""Creates, changes, lists and removes stored entries and their pins (cdx-1, cdx-9).

Every change validates the whole entry, whichever field changes. Progressions are edited in `progressions`, and who
knows an entry in `knowledge`. Removing an entry removes its progressions, knowledge, pins and the relations to it.
Chapters told through its eyes and facts that it knows still name it by its id, so its name is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Row

from fabula.codex import knowledge, progressions
from fabula.codex.entry import Entry, Level, PinMode, Pins
from fabula.codex.snapshot import MAX_IDS_PER_QUERY, read_entries, read_pins
from fabula.codex.tables import entries, pins, relations, removed_entries
from fabula.codex.validation import apply_values, codex_error, validate_entry
from fabula.core.ids import current_timestamp, is_valid_id, new_id
from fabula.core.messages import message
from fabula.store.rows import position_values
from fabula.store.transaction import ReadTransaction, WriteTransaction, row_missing

_PLAIN_COLUMNS = ("type", "name", "aliases", "description", "details", "tags", "notes")
_FIXED = frozenset({"id", "progressions"})  # `update` refuses these


class StoredEntry(Struct, frozen=True, kw_only=True):
    """An entry in the store, with its version and times."""

    entry: Entry
    version: int
    created_at: str
    updated_at: str


def create(tx: WriteTransaction, entry: Entry) -> str:
    """Store a new entry and return its id; an empty id gets a generated one, a taken one is refused."""
    entry = validate_entry(entry if entry.id else replace(entry, id=new_id()))
    _insert(tx, [entry], {})
    return entry.id


def update(tx: WriteTransaction, entry_id: str, values: Mapping[str, Any], *, expected: int | None = None) -> int:
    """Change some fields of an entry and return its new version; `relations` is replaced as a whole list."""
    before = get(tx, entry_id).entry
    entry = validate_entry(apply_values(before, values, fixed=_FIXED))
    version = tx.update_row(entries, {"id": entry_id}, _columns(entry), expected=expected)
    if entry.relations != before.relations:
        tx.delete_rows(relations, relations.c.entry_id == entry_id)
        tx.insert(relations, *_relation_rows(entry))
    return version


def remove(tx: WriteTransaction, entry_id: str, *, expected: int | None = None) -> None:
    """Remove an entry with its progressions, knowledge, pins and the relations to it; its name is kept."""
    tx.update_row(entries, {"id": entry_id}, {}, expected=expected)
    entry = get(tx, entry_id).entry
    knowledge.remove_entry(tx, entry)
    tx.delete_rows(removed_entries, removed_entries.c.id == entry_id)
    tx.insert(removed_entries, {"id": entry_id, "name": entry.name, "removed": current_timestamp()})
    tx.delete_rows(pins, pins.c.entry_id == entry_id)
    tx.delete_rows(relations, relations.c.to_id == entry_id)
    tx.delete_rows(entries, entries.c.id == entry_id)


def put(tx: WriteTransaction, entry: Entry) -> None:
    """Store an entry, new or in place of the one with its id."""
    put_all(tx, (entry,))


def put_all(tx: WriteTransaction, new_entries: Iterable[Entry]) -> int:
    """Store entries, each new or in place of the one with its id; return how many were written.

    Entries that are equal to the stored ones are not written. Replaced entries keep their pins.
    """
    valid: dict[str, Entry] = {}
    for entry in new_entries:
        if entry.id in valid:
            raise codex_error(message("Two entries have the id {id!r}. Give one of them another id.", id=entry.id))
        valid[entry.id] = validate_entry(entry)
    old = read_entries(tx, valid)
    changed = [entry for ident, entry in valid.items() if old.get(ident) != entry]
    replaced = [entry.id for entry in changed if entry.id in old]
    replaced_rows: dict[str, Row[Any]] = {}
    pin_rows: list[Row[Any]] = []
    for start in range(0, len(replaced), MAX_IDS_PER_QUERY):
        ids = replaced[start : start + MAX_IDS_PER_QUERY]
        replaced_rows |= {row.id: row for row in tx.rows(entries, entries.c.id.in_(ids))}
        pin_rows += tx.rows(pins, pins.c.entry_id.in_(ids))
        tx.delete_rows(entries, entries.c.id.in_(ids))
    _insert(tx, changed, replaced_rows)
    tx.insert(pins, *({"where_id": row.where_id, "entry_id": row.entry_id, "wish": row.wish} for row in pin_rows))
    for ident in replaced:
        knowledge.remove_outdated(tx, old[ident], valid[ident])
    return len(changed)


def get(reading: ReadTransaction, entry_id: str) -> StoredEntry:
    """Read one entry; a missing one is refused."""
    row = reading.require(entries, id=entry_id)
    return _stored(row, read_entries(reading, (entry_id,)))


def list_entries(reading: ReadTransaction) -> list[StoredEntry]:
    """List every entry by type and name."""
    by_id = read_entries(reading)
    return [_stored(row, by_id) for row in reading.rows(entries, order=(entries.c.type, entries.c.name, entries.c.id))]


def pin_entry(tx: WriteTransaction, where_id: str, entry_id: str, mode: PinMode = PinMode.INCLUDE) -> None:
    """Include or exclude an entry in every prompt of one document or conversation."""
    if mode not in tuple(PinMode) or not is_valid_id(where_id):
        raise codex_error(message("A pin needs the id of a document or conversation, and must include or exclude."))
    tx.require(entries, id=entry_id)
    is_this_pin = (pins.c.where_id == where_id, pins.c.entry_id == entry_id)
    if not tx.update_rows(pins, {"wish": PinMode(mode).value}, *is_this_pin):
        tx.insert(pins, {"where_id": where_id, "entry_id": entry_id, "wish": PinMode(mode).value})


def unpin_entry(tx: WriteTransaction, where_id: str, entry_id: str) -> None:
    """Remove a pin, so that the entry's level decides again."""
    if not tx.delete_rows(pins, pins.c.where_id == where_id, pins.c.entry_id == entry_id):
        raise row_missing(pins, {"where_id": where_id, "entry_id": entry_id})


def list_pins(reading: ReadTransaction, where_id: str | None = None) -> Pins:
    """List every pin, or those of one document or conversation."""
    return read_pins(reading, None if where_id is None else (where_id,))


def _stored(row: Row[Any], by_id: Mapping[str, Entry]) -> StoredEntry:
    return StoredEntry(entry=by_id[row.id], version=row.version, created_at=row.made, updated_at=row.changed)


def _insert(tx: WriteTransaction, new_entries: Sequence[Entry], replaced_rows: Mapping[str, Row[Any]]) -> None:
    """Insert entries with relations and progressions; a replacement continues the version of the old row."""
    at = current_timestamp()
    rows = []
    for entry in new_entries:
        old = replaced_rows.get(entry.id)
        created_at, version = (at, 1) if old is None else (old.made, old.version + 1)
        rows.append({"id": entry.id, "made": created_at, "version": version, **_columns(entry, at)})
    tx.insert(entries, *rows)
    tx.insert(relations, *(row for entry in new_entries for row in _relation_rows(entry)))
    progressions.add_for_entries(tx, new_entries)


def _columns(entry: Entry, at: str | None = None) -> dict[str, Any]:
    return {
        **{name: getattr(entry, name) for name in _PLAIN_COLUMNS},
        "level": Level(entry.level).value,
        "known_to": None if entry.known_to is None else sorted(entry.known_to),
        **position_values("since", entry.since),
        "rules": msgspec.to_builtins(entry.rules),
        "changed": at or current_timestamp(),
    }


def _relation_rows(entry: Entry) -> list[dict[str, Any]]:
    return [
        {
            "entry_id": entry.id,
            "to_id": relation.to,
            "kind": relation.kind,
            "place": place,
            **position_values("since", relation.since),
            **position_values("until", relation.until),
            "known_to": None if relation.known_to is None else sorted(relation.known_to),
        }
        for place, relation in enumerate(entry.relations)
    ]
