"""Sittings: what somebody did lately, from what the store has on record (mem-1).

A page holds its sitting itself. A command lives as long as one request, so it looks back: everything that was
typed, accepted, rejected or rewritten, up to the last pause of an hour.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct
from sqlalchemy import Row, desc

from fabula.core.ids import moment_of
from fabula.core.story import Position
from fabula.manuscript.tables import documents, revisions
from fabula.memory.model import NOTES, Fate
from fabula.memory.outcomes import recorded
from fabula.memory.working_memory import NOT_BEGUN, QUOTE, Sitting
from fabula.store.transaction import Reading
from fabula.text.offsets import difference

PAUSE = timedelta(hours=1)  # after which somebody sits down anew


class _Step(Struct, frozen=True):
    """One thing on record."""

    when: datetime
    text: str
    at: Position | None
    fate: Fate | None = None  # None for what was typed
    title: str = ""


def sitting_of(reading: Reading, now: str) -> Sitting:
    """The sitting that is under way at a moment; one that has not begun where nothing was done for an hour."""
    steps = sorted((*_typed(reading), *_taken(reading)), key=lambda step: step.when)
    last, begins = moment_of(now), len(steps)
    while begins and last is not None and last - steps[begins - 1].when <= PAUSE:
        begins -= 1
        last = steps[begins].when
    sitting = NOT_BEGUN
    for step in steps[begins:]:
        if step.fate is not None:
            sitting = sitting.took(step.fate, step.text, step.at)
        elif step.at is not None:
            sitting = sitting.opened(step.at.document, step.title)
            sitting = sitting.edited(step.at.document, step.at.offset, step.text)
    return sitting


def _taken(reading: Reading) -> list[_Step]:
    """What became of suggestions; beside a story only of those whose place is known, for the gate to judge."""
    beside = reading.count(documents) > 0
    return [
        _Step(when, one.became or one.offered, one.at, one.fate)
        for one in recorded(reading, limit=NOTES)
        if (when := moment_of(one.made)) is not None and (one.at is not None or not beside)
    ]


def _typed(reading: Reading) -> list[_Step]:
    """The documents changed last, each with the end of what was typed into it since the revision before."""
    found = []
    for row in reading.rows(documents, order=(desc(documents.c.changed), documents.c.id), limit=NOTES):
        before = _before(reading, row.id)
        when = moment_of(row.changed)
        if before is None or before.cause != "typed" or when is None:
            continue  # what was brought in or accepted was not typed
        edit = difference(before.text, row.text)
        words = row.text[max(edit.start, edit.new_end - QUOTE) : edit.new_end]
        if words.strip():
            found.append(_Step(when, words, Position(row.id, edit.new_end), title=row.title))
    return found


def _before(reading: Reading, document_id: str) -> Row[Any] | None:
    """The latest revision that is kept of a document."""
    here = revisions.c.document_id == document_id
    rows = reading.rows(revisions, here, order=(desc(revisions.c.revision),), limit=1)
    return rows[0] if rows else None
