"""Knowledge: who knows which fact, and since when (cdx-8).

A fact is named as its fragment is: `codex:entity:ENTRY`, `codex:entity:ENTRY#NUMBER` for a progression, or
something of another room. Knowledge adds to an entry's own `known_to`, and it is the more exact word: who
is said to know a fact since some point of the story does not know it before, even where all others may.
Numbers move when progressions come and go, so what is known moves along; where a fact is no longer the
same, what was said about who knows it is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from fabula.codex.model import Entry
from fabula.codex.tables import entries, knowledge, progressions
from fabula.codex.validation import check_since, refused
from fabula.core.ids import sound_id
from fabula.core.story import Position
from fabula.store.transaction import Reading, Writing, missing

_OURS = "codex:entity:"


class Knowing(Struct, frozen=True, kw_only=True):
    """Somebody knows something, from the beginning or since some point of the story."""

    fact: str
    knower: str
    since: Position | None = None
    note: str = ""


def know(tx: Writing, knowing: Knowing) -> None:
    """Somebody knows a fact: new, or in place of what was said about it before."""
    fact, knower, since = knowing.fact, knowing.knower, knowing.since
    if not fact.strip() or not sound_id(knower):
        raise refused("To say who knows what, name a fact and a character by their ids.")
    check_since(since)
    _check_fact(tx, fact)
    values: dict[str, Any] = {
        "since_document": None if since is None else since.document,
        "since_offset": None if since is None else since.offset,
        "note": knowing.note,
    }
    if not tx.change(knowledge, values, knowledge.c.fact == fact, knowledge.c.knower == knower):
        tx.add(knowledge, {"fact": fact, "knower": knower, **values})


def unknow(tx: Writing, fact: str, knower: str) -> None:
    """Somebody does not know a fact after all."""
    if not tx.remove(knowledge, knowledge.c.fact == fact, knowledge.c.knower == knower):
        raise missing(knowledge, {"fact": fact, "knower": knower})


def listed(reading: Reading, *, fact: str | None = None, knower: str | None = None) -> list[Knowing]:
    """Who knows what: everything, or of one fact, or of one knower."""
    where = [] if fact is None else [knowledge.c.fact == fact]
    where += [] if knower is None else [knowledge.c.knower == knower]
    return [
        Knowing(
            fact=row.fact,
            knower=row.knower,
            since=None if row.since_document is None else Position(row.since_document, row.since_offset or 0),
            note=row.note,
        )
        for row in reading.rows(knowledge, *where, order=(knowledge.c.fact, knowledge.c.knower))
    ]


def renumber(tx: Writing, entry_id: str, moves: Mapping[int, int | None]) -> None:
    """Progressions of an entry got other numbers, or none: what is known of them goes along."""
    facts = [f"{_OURS}{entry_id}#{number}" for number in moves]
    known = tx.rows(knowledge, knowledge.c.fact.in_(facts)) if facts else ()
    if not known:
        return
    tx.remove(knowledge, knowledge.c.fact.in_(facts))
    fresh = []
    for row in known:
        number = moves[int(row.fact.rpartition("#")[2])]
        if number is not None:
            fresh.append(
                {
                    "fact": f"{_OURS}{entry_id}#{number}",
                    "knower": row.knower,
                    "since_document": row.since_document,
                    "since_offset": row.since_offset,
                    "note": row.note,
                }
            )
    tx.add(knowledge, *fresh)


def follow(tx: Writing, old: Entry, new: Entry) -> None:
    """An entry was replaced whole: a progression that says something else now is known to nobody yet."""
    said = dict(enumerate(((step.text, step.aliases) for step in new.progressions), start=1))
    changed = [n for n, step in enumerate(old.progressions, start=1) if said.get(n) != (step.text, step.aliases)]
    renumber(tx, old.id, dict.fromkeys(changed))


def forget(tx: Writing, entry: Entry) -> None:
    """An entry goes: nobody knows it any more, and it knows nothing."""
    numbers = range(1, len(entry.progressions) + 1)
    facts = [entry.source, *(f"{entry.source}#{number}" for number in numbers)]
    tx.remove(knowledge, knowledge.c.fact.in_(facts))
    tx.remove(knowledge, knowledge.c.knower == entry.id)


def _check_fact(tx: Writing, fact: str) -> None:
    """A fact of the codex must be there; what other rooms know is theirs to say."""
    if not fact.startswith(_OURS):
        return
    entry_id, mark, number = fact.removeprefix(_OURS).partition("#")
    tx.need(entries, id=entry_id)
    if mark:
        count = tx.count(progressions, progressions.c.entry_id == entry_id)
        if not number.isdecimal() or not 1 <= int(number) <= count or str(int(number)) != number:
            raise refused(f"The entry {entry_id!r} has {count} progressions, and {number!r} is none of their numbers.")
