"""From rows to a snapshot: entries that did not move are shared with the snapshot before.

The feed names what moved by entry, by fact (who knows it) and by document or conversation (pins), all in
one set. Each of the three is asked for the ids it knows; an id that is no entry is simply not an entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Any

import msgspec
from sqlalchemy import Row, Table

from fabula.codex.model import Codex, Entry, Knowledge, Level, Pins, Progression, Relation, Wish
from fabula.codex.name_index import Roll
from fabula.codex.tables import entries, knowledge, pins, progressions, relations
from fabula.core.story import Position, Timeline
from fabula.core.view import Language
from fabula.store.transaction import Reading
from fabula.text.names.matcher import Rules

FEW = 500  # up to so many are asked for by name; of more, everything is read


def load(
    reading: Reading,
    project_id: str,
    language: Language,
    timeline: Timeline,
    before: Codex | None = None,
    moved: Set[str] | None = None,
    *,
    relation_depth: int | None = None,
) -> Codex:
    """The codex as it stands. Where only known items moved, only they are read."""
    ids = None if before is None else _few(moved)
    known = {} if before is None else before.by_id
    fresh = {ident: _shared(known.get(ident), entry) for ident, entry in read(reading, ids).items()}
    pinned, knowing = pins_at(reading, ids), knowledge_of(reading, ids)
    roll: Roll | None = None
    if before is not None and ids is not None:
        roll = before.roll.changed(ids, fresh)
        pinned = {**{where: wishes for where, wishes in before.pins.items() if where not in ids}, **pinned}
        knowing = {**{fact: who for fact, who in before.knowledge.items() if fact not in ids}, **knowing}
    elif before is not None:
        roll = Roll(fresh.values()).following(before.roll)
    return Codex(
        project_id,
        language,
        roll or [*fresh.values()],
        timeline,
        pins=pinned,
        knowledge=knowing,
        relation_depth=relation_depth,
    )


def read(reading: Reading, ids: Iterable[str] | None = None) -> dict[str, Entry]:
    """Entries by id: those, or all."""
    wanted = None if ids is None else sorted(ids)
    related: dict[str, list[Relation]] = {}
    for row in _rows(reading, relations, "entry_id", wanted, "place", "to_id", "kind"):
        related.setdefault(row.entry_id, []).append(Relation(row.to_id, row.kind))
    steps: dict[str, list[Progression]] = {}
    for row in _rows(reading, progressions, "entry_id", wanted, "place", "id"):
        steps.setdefault(row.entry_id, []).append(step_of(row))
    return {
        row.id: _entry(row, tuple(related.get(row.id, ())), tuple(steps.get(row.id, ())))
        for row in _rows(reading, entries, "id", wanted)
    }


def pins_at(reading: Reading, where: Iterable[str] | None = None) -> Pins:
    """What is pinned or shut out, by document or conversation."""
    found: dict[str, dict[str, Wish]] = {}
    wanted = None if where is None else sorted(where)
    for row in _rows(reading, pins, "where_id", wanted, "entry_id"):
        found.setdefault(row.where_id, {})[row.entry_id] = Wish(row.wish)
    return found


def knowledge_of(reading: Reading, facts: Iterable[str] | None = None) -> Knowledge:
    """Who knows a fact, and since when."""
    found: dict[str, dict[str, Position | None]] = {}
    wanted = None if facts is None else sorted(facts)
    for row in _rows(reading, knowledge, "fact", wanted, "knower"):
        found.setdefault(row.fact, {})[row.knower] = _since(row)
    return found


def step_of(row: Row[Any]) -> Progression:
    """One progression."""
    since = Position(row.since_document or "", row.since_offset or 0)
    return Progression(row.text, since, _known_to(row), tuple(row.aliases))


def _few(moved: Set[str] | None) -> Set[str] | None:
    """The items that moved, where they are worth asking for one by one; an item without a name may be any."""
    return moved if moved is not None and len(moved) <= FEW and "" not in moved else None


def _rows(reading: Reading, table: Table, key: str, wanted: Sequence[str] | None, *further: str) -> Iterable[Row[Any]]:
    """Rows by one of their columns, some hundred ids at a time, in order."""
    order = [table.c[name] for name in (key, *further)]
    if wanted is None:
        yield from reading.rows(table, order=order)
        return
    for start in range(0, len(wanted), FEW):
        yield from reading.rows(table, table.c[key].in_(wanted[start : start + FEW]), order=order)


def _shared(kept: Entry | None, fresh: Entry) -> Entry:
    return kept if kept is not None and kept == fresh else fresh


def _entry(row: Row[Any], related: tuple[Relation, ...], steps: tuple[Progression, ...]) -> Entry:
    return Entry(
        id=row.id,
        type=row.type,
        name=row.name,
        aliases=tuple(row.aliases),
        level=Level(row.level),
        description=row.description,
        details=row.details,
        tags=tuple(row.tags),
        notes=row.notes,
        relations=related,
        known_to=_known_to(row),
        since=_since(row),
        progressions=steps,
        rules=_rules(row.rules),
    )


def _rules(said: Any) -> Rules:
    """How names are found; what nobody understands any more is passed over."""
    try:
        return msgspec.convert(said, Rules)
    except msgspec.ValidationError:
        return Rules()


def _known_to(row: Row[Any]) -> frozenset[str] | None:
    return None if row.known_to is None else frozenset(row.known_to)


def _since(row: Row[Any]) -> Position | None:
    return None if row.since_document is None else Position(row.since_document, row.since_offset or 0)
