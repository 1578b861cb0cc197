"""Entries: made, changed, replaced whole and taken away.

An entry is checked as a whole, whichever of its fields is changed, so that no half of it can go wrong
unseen. What becomes true of it is in `progressions`, who knows it in `knowledge`, where it is pinned in
`pins`; all of that goes when the entry goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Row

from fabula.codex import knowledge, progressions
from fabula.codex.model import Entry, Level
from fabula.codex.snapshot import FEW, read
from fabula.codex.tables import entries, pins, relations
from fabula.codex.validation import checked, refused
from fabula.core.ids import new_id, now
from fabula.store.transaction import Reading, Writing, missing

_FIXED = frozenset({"id", "progressions"})  # not to be changed like other fields


class Kept(Struct, frozen=True, kw_only=True):
    """An entry as the store keeps it, with the version that an edit names."""

    entry: Entry
    version: int
    made: str
    changed: str


def create(tx: Writing, entry: Entry) -> str:
    """A new entry; its id, made up where it has none. An id that is taken is refused."""
    entry = checked(entry if entry.id else msgspec.structs.replace(entry, id=new_id()))
    _add(tx, [entry], {})
    return entry.id


def update(tx: Writing, entry_id: str, values: Mapping[str, Any], *, expected: int | None = None) -> int:
    """Change some fields, relations as a whole list; says the new version."""
    before = get(tx, entry_id).entry
    strange = set(values) - set(Entry.__struct_fields__) | _FIXED & set(values)
    if strange:
        raise refused(f"Of an entry, {', '.join(sorted(strange))} cannot be changed in this way.")
    fields = {name: getattr(before, name) for name in Entry.__struct_fields__}
    try:
        entry = checked(msgspec.convert({**fields, **values}, Entry))
    except msgspec.ValidationError as error:
        raise refused(f"The entry {before.name!r} cannot be changed like this: {error}.") from error
    version = tx.edit(entries, {"id": entry_id}, _columns(entry), expected=expected)
    if entry.relations != before.relations:
        tx.remove(relations, relations.c.entry_id == entry_id)
        tx.add(relations, *_relation_rows(entry))
    return version


def remove(tx: Writing, entry_id: str, *, expected: int | None = None) -> None:
    """Take an entry away, with what becomes of it, its pins, and how others stand to it."""
    tx.edit(entries, {"id": entry_id}, {}, expected=expected)
    knowledge.forget(tx, get(tx, entry_id).entry)
    tx.remove(pins, pins.c.entry_id == entry_id)
    tx.remove(relations, relations.c.to_id == entry_id)
    tx.remove(entries, entries.c.id == entry_id)


def put(tx: Writing, entry: Entry) -> None:
    """An entry as it is, new or in place of the one of that id."""
    put_all(tx, (entry,))


def put_all(tx: Writing, many: Iterable[Entry]) -> int:
    """Many entries as they are, each new or in place of the one of its id; says how many were written.

    Entries that are there already just so are left alone; the pins of the others stay.
    """
    wanted: dict[str, Entry] = {}
    for entry in many:
        if entry.id in wanted:
            raise refused(f"Two entries have the id {entry.id!r}: give one of them another.")
        wanted[entry.id] = checked(entry)
    old = read(tx, wanted)
    fresh = [entry for ident, entry in wanted.items() if old.get(ident) != entry]
    replaced = [entry.id for entry in fresh if entry.id in old]
    rows: dict[str, Row[Any]] = {}
    pinned: list[Row[Any]] = []
    for start in range(0, len(replaced), FEW):
        ids = replaced[start : start + FEW]
        rows |= {row.id: row for row in tx.rows(entries, entries.c.id.in_(ids))}
        pinned += tx.rows(pins, pins.c.entry_id.in_(ids))
        tx.remove(entries, entries.c.id.in_(ids))
    _add(tx, fresh, rows)
    tx.add(pins, *({"where_id": pin.where_id, "entry_id": pin.entry_id, "wish": pin.wish} for pin in pinned))
    for ident in replaced:
        knowledge.follow(tx, old[ident], wanted[ident])
    return len(fresh)


def get(reading: Reading, entry_id: str) -> Kept:
    """One entry."""
    found = _kept(reading.rows(entries, entries.c.id == entry_id), read(reading, (entry_id,)))
    if not found:
        raise missing(entries, {"id": entry_id})
    return found[0]


def listed(reading: Reading) -> list[Kept]:
    """Every entry, by type and name."""
    order = (entries.c.type, entries.c.name, entries.c.id)
    return _kept(reading.rows(entries, order=order), read(reading))


def _kept(rows: Sequence[Row[Any]], found: Mapping[str, Entry]) -> list[Kept]:
    return [Kept(entry=found[row.id], version=row.version, made=row.made, changed=row.changed) for row in rows]


def _add(tx: Writing, many: Sequence[Entry], replacing: Mapping[str, Row[Any]]) -> None:
    """Rows of whole entries; those that replace others go on from their versions."""
    at = now()
    rows = []
    for entry in many:
        old = replacing.get(entry.id)
        made, version = (at, 1) if old is None else (old.made, old.version + 1)
        rows.append({"id": entry.id, "made": made, "version": version, **_columns(entry, at)})
    tx.add(entries, *rows)
    tx.add(relations, *(row for entry in many for row in _relation_rows(entry)))
    progressions.add_all(tx, many)


def _columns(entry: Entry, at: str | None = None) -> dict[str, Any]:
    since = entry.since
    return {
        "type": entry.type,
        "name": entry.name,
        "aliases": entry.aliases,
        "level": Level(entry.level).value,
        "description": entry.description,
        "details": entry.details,
        "tags": entry.tags,
        "notes": entry.notes,
        "known_to": None if entry.known_to is None else sorted(entry.known_to),
        "since_document": None if since is None else since.document,
        "since_offset": None if since is None else since.offset,
        "rules": msgspec.to_builtins(entry.rules),
        "changed": at or now(),
    }


def _relation_rows(entry: Entry) -> list[dict[str, Any]]:
    return [
        {"entry_id": entry.id, "to_id": relation.to, "kind": relation.kind, "place": place}
        for place, relation in enumerate(entry.relations)
    ]
