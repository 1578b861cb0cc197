"""Stores which characters know which fact, and since when (cdx-8).

A fact is named by the source of its fragment: `codex:entity:ENTRY`, `codex:entity:ENTRY#NUMBER` for a progression,
or a fragment of another package. Stored knowledge adds to the `known_to` of an entry and takes precedence over it:
a character that learns a fact at some position does not know it before, even if everyone else does. Knowledge
follows a progression when its number changes, and is removed when the text of the progression changes.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from fabula.codex.entry import Entry
from fabula.codex.tables import entries, knowledge, progressions
from fabula.codex.validation import codex_error, validate_position
from fabula.core.ids import is_valid_id
from fabula.core.messages import message, plural
from fabula.core.story import Position
from fabula.store.rows import position_from_row, position_values
from fabula.store.transaction import ReadTransaction, WriteTransaction, row_missing

_ENTRY_PREFIX = "codex:entity:"


class KnownFact(Struct, frozen=True, kw_only=True):
    """A character knows a fact, from the beginning or since a position of the story."""

    fact: str
    knower: str
    since: Position | None = None
    note: str = ""


def put(tx: WriteTransaction, known: KnownFact) -> None:
    """Store that a character knows a fact, or replace what was stored about the two."""
    if not known.fact.strip() or not is_valid_id(known.knower):
        raise codex_error(message("To say who knows what, name a fact and a character by their ids."))
    validate_position(known.since)
    _check_fact(tx, known.fact)
    values = {**position_values("since", known.since), "note": known.note}
    if not tx.update_rows(knowledge, values, knowledge.c.fact == known.fact, knowledge.c.knower == known.knower):
        tx.insert(knowledge, {"fact": known.fact, "knower": known.knower, **values})


def remove(tx: WriteTransaction, fact: str, knower: str) -> None:
    """Remove what is stored about one character and one fact."""
    if not tx.delete_rows(knowledge, knowledge.c.fact == fact, knowledge.c.knower == knower):
        raise row_missing(knowledge, {"fact": fact, "knower": knower})


def list_known_facts(
    reading: ReadTransaction, *, fact: str | None = None, knower: str | None = None
) -> list[KnownFact]:
    """List who knows what: everything, or only one fact or one character."""
    where = [] if fact is None else [knowledge.c.fact == fact]
    where += [] if knower is None else [knowledge.c.knower == knower]
    return [
        KnownFact(fact=row.fact, knower=row.knower, since=position_from_row(row, "since"), note=row.note)
        for row in reading.rows(knowledge, *where, order=(knowledge.c.fact, knowledge.c.knower))
    ]


def renumber(tx: WriteTransaction, entry_id: str, new_numbers: Mapping[int, int | None]) -> None:
    """Move the knowledge of an entry's progressions to their new numbers; None removes it."""
    prefix = f"{_ENTRY_PREFIX}{entry_id}#"
    facts = [f"{prefix}{number}" for number in new_numbers]
    rows = tx.rows(knowledge, knowledge.c.fact.in_(facts)) if facts else ()
    if not rows:
        return
    tx.delete_rows(knowledge, knowledge.c.fact.in_(facts))
    rows_to_insert = []
    for row in rows:
        number = new_numbers[int(row.fact.removeprefix(prefix))]
        if number is not None:
            rows_to_insert.append({**row._mapping, "fact": f"{prefix}{number}"})
    tx.insert(knowledge, *rows_to_insert)


def remove_outdated(tx: WriteTransaction, old: Entry, new: Entry) -> None:
    """Remove the knowledge of progressions that say something else since an entry was replaced."""
    now = dict(enumerate(((step.text, step.aliases) for step in new.progressions), start=1))
    changed = [n for n, step in enumerate(old.progressions, start=1) if now.get(n) != (step.text, step.aliases)]
    renumber(tx, old.id, dict.fromkeys(changed))


def remove_entry(tx: WriteTransaction, entry: Entry) -> None:
    """Remove all knowledge of an entry and its progressions, and all knowledge the entry has as a character."""
    numbers = range(1, len(entry.progressions) + 1)
    facts = [entry.source, *(f"{entry.source}#{number}" for number in numbers)]
    tx.delete_rows(knowledge, knowledge.c.fact.in_(facts))
    tx.delete_rows(knowledge, knowledge.c.knower == entry.id)


def _check_fact(tx: WriteTransaction, fact: str) -> None:
    """Refuse a fact about an entry or progression that does not exist; other packages' facts are not checked."""
    if not fact.startswith(_ENTRY_PREFIX):
        return
    entry_id, mark, number = fact.removeprefix(_ENTRY_PREFIX).partition("#")
    tx.require(entries, id=entry_id)
    if mark:
        count = tx.count(progressions, progressions.c.entry_id == entry_id)
        if not number.isdecimal() or not 1 <= int(number) <= count or str(int(number)) != number:
            raise codex_error(
                plural(
                    count,
                    "The entry {id!r} has one progression, and {number!r} is not its number.",
                    "The entry {id!r} has {count} progressions, and {number!r} is none of their numbers.",
                    id=entry_id,
                    number=number,
                )
            )
