"""Loads the codex snapshot from the store; unchanged entries are shared with the previous snapshot.

The change feed lists what changed as one set of ids: of entries, also removed ones, of facts (who knows them), and of
documents or conversations (their pins). Each of the four tables is queried for all of these ids; those of another kind
simply match no row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Any

import msgspec
from sqlalchemy import Row, Table

from fabula.codex.entry import Entry, Knowledge, PinMode, Pins, Progression, Relation
from fabula.codex.model import Codex
from fabula.codex.name_index import NameIndex
from fabula.codex.tables import entries, knowledge, pins, progressions, relations, removed_entries
from fabula.core.story import Position, Timeline
from fabula.core.view import Language
from fabula.store.rows import position_from_row, read_struct
from fabula.store.transaction import ReadTransaction
from fabula.text.names.matcher import NameRules

MAX_IDS_PER_QUERY = 500  # with more changed ids than this, everything is read


def load(
    reading: ReadTransaction,
    project_id: str,
    language: Language,
    timeline: Timeline,
    previous: Codex | None = None,
    changed: Set[str] | None = None,
    *,
    relation_depth: int | None = None,
) -> Codex:
    """Load the codex; with a previous snapshot and the changed ids, read only those."""
    ids, known = (None, {}) if previous is None else (_few_ids(changed), previous.by_id)
    current = {
        ident: known[ident] if known.get(ident) == entry else entry
        for ident, entry in read_entries(reading, ids).items()
    }
    pins_by_place, knowledge_by_fact = read_pins(reading, ids), read_knowledge(reading, ids)
    removed_names = read_removed_names(reading, ids)
    if previous is None:
        name_index = NameIndex(current.values())
    elif ids is None:
        name_index = NameIndex(current.values()).reuse_matcher(previous.name_index)
    else:
        name_index = previous.name_index.with_changes(ids, current)
        pins_by_place = {**{key: pins for key, pins in previous.pins.items() if key not in ids}, **pins_by_place}
        unchanged = {fact: knowers for fact, knowers in previous.knowledge.items() if fact not in ids}
        knowledge_by_fact = {**unchanged, **knowledge_by_fact}
        still_removed = {ident: name for ident, name in previous.removed_names.items() if ident not in ids}
        removed_names = {**still_removed, **removed_names}
    return Codex(
        project_id,
        language,
        name_index,
        timeline,
        pins=pins_by_place,
        knowledge=knowledge_by_fact,
        removed_names=removed_names,
        relation_depth=relation_depth,
    )


def read_entries(reading: ReadTransaction, ids: Iterable[str] | None = None) -> dict[str, Entry]:
    """Read entries by id, or all of them."""
    wanted = None if ids is None else sorted(ids)
    related: dict[str, list[Relation]] = {}
    for row in _rows(reading, relations, "entry_id", wanted, "place", "to_id", "kind"):
        related.setdefault(row.entry_id, []).append(read_struct(Relation, row, to=row.to_id))
    steps: dict[str, list[Progression]] = {}
    for row in _rows(reading, progressions, "entry_id", wanted, "place", "id"):
        steps.setdefault(row.entry_id, []).append(progression_from_row(row))
    return {
        row.id: _entry(row, related.get(row.id, ()), steps.get(row.id, ()))
        for row in _rows(reading, entries, "id", wanted)
    }


def read_pins(reading: ReadTransaction, where_ids: Iterable[str] | None = None) -> Pins:
    """Read the pins of some documents or conversations, or all of them."""
    found: dict[str, dict[str, PinMode]] = {}
    wanted = None if where_ids is None else sorted(where_ids)
    for row in _rows(reading, pins, "where_id", wanted, "entry_id"):
        found.setdefault(row.where_id, {})[row.entry_id] = PinMode(row.wish)
    return found


def read_knowledge(reading: ReadTransaction, facts: Iterable[str] | None = None) -> Knowledge:
    """Read who knows some facts, or all facts, and since when."""
    found: dict[str, dict[str, Position | None]] = {}
    wanted = None if facts is None else sorted(facts)
    for row in _rows(reading, knowledge, "fact", wanted, "knower"):
        found.setdefault(row.fact, {})[row.knower] = position_from_row(row, "since")
    return found


def read_removed_names(reading: ReadTransaction, ids: Iterable[str] | None = None) -> dict[str, str]:
    """Read the last names of some removed entries, or of all, by id."""
    wanted = None if ids is None else sorted(ids)
    return {row.id: row.name for row in _rows(reading, removed_entries, "id", wanted)}


def progression_from_row(row: Row[Any]) -> Progression:
    """Make a progression from its row."""
    return read_struct(Progression, row, since=position_from_row(row, "since") or Position(""))


def _few_ids(changed: Set[str] | None) -> Set[str] | None:
    """The changed ids, or None where everything must be read: too many changed, or one is unnamed."""
    return changed if changed is not None and len(changed) <= MAX_IDS_PER_QUERY and "" not in changed else None


def _rows(
    reading: ReadTransaction, table: Table, key: str, wanted: Sequence[str] | None, *further: str
) -> Iterable[Row[Any]]:
    """Read rows by the ids in one column, in batches and in order."""
    order = [table.c[name] for name in (key, *further)]
    if wanted is None:
        yield from reading.rows(table, order=order)
        return
    for start in range(0, len(wanted), MAX_IDS_PER_QUERY):
        yield from reading.rows(table, table.c[key].in_(wanted[start : start + MAX_IDS_PER_QUERY]), order=order)


def _entry(row: Row[Any], related: Sequence[Relation], steps: Sequence[Progression]) -> Entry:
    try:
        rules = msgspec.convert(row.rules, NameRules)
    except msgspec.ValidationError:  # of a newer version
        rules = NameRules()
    return read_struct(Entry, row, relations=related, progressions=steps, rules=rules)
