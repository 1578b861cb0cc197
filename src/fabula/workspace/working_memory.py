"""Load the working memory of the current session from the store (mem-1).

The page keeps its working memory itself. A command ends after one request, so it reads from the store what the writer
typed, accepted, rejected or rewrote since the last pause of an hour.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct
from sqlalchemy import Row, desc

from fabula.core.ids import parse_timestamp
from fabula.core.story import Position
from fabula.manuscript.tables import documents, revisions
from fabula.memory.model import MAX_WORKING_NOTES, Decision
from fabula.memory.outcomes import list_outcomes
from fabula.memory.working_memory import EMPTY_WORKING_MEMORY, QUOTE_CHARS, WorkingMemory
from fabula.store.transaction import ReadTransaction
from fabula.text.diff import find_edits

PAUSE = timedelta(hours=1)  # after which a new session begins


class _Action(Struct, frozen=True):
    """Something the writer did: typed a text, or decided on a suggestion."""

    time: datetime
    text: str
    position: Position | None
    decision: Decision | None = None  # None for typed text
    title: str = ""


def load_working_memory(reading: ReadTransaction, now: str) -> WorkingMemory:
    """Load the working memory of the session at a time; it is empty if nothing happened in the hour before."""
    last = parse_timestamp(now)
    actions = sorted((*_load_edits(reading), *_load_decisions(reading)), key=lambda action: action.time)
    actions = [action for action in actions if last is None or action.time <= last]  # others: the clock was ahead
    first = len(actions)
    while first and last is not None and last - actions[first - 1].time <= PAUSE:
        first -= 1
        last = actions[first].time
    memory = EMPTY_WORKING_MEMORY
    for action in actions[first:]:
        if action.decision is not None:
            memory = memory.with_decision(action.decision, action.text, action.position)
        elif action.position is not None:
            memory = memory.with_opened(action.position.document, action.title)
            memory = memory.with_edit(action.position.document, action.position.offset, action.text)
    return memory


def _load_decisions(reading: ReadTransaction) -> list[_Action]:
    """Load the latest decisions on suggestions.

    In a project with a manuscript, a decision without a position is left out: the gate could not tell whether the
    reader may already know its text.
    """
    has_manuscript = reading.count(documents) > 0
    return [
        _Action(time, outcome.rewritten_text or outcome.suggestion, outcome.position, outcome.decision)
        for outcome in list_outcomes(reading, limit=MAX_WORKING_NOTES)
        if (time := parse_timestamp(outcome.created_at)) is not None
        and (outcome.position is not None or not has_manuscript)
    ]


def _load_edits(reading: ReadTransaction) -> list[_Action]:
    """Load the latest edits: for each document, the end of what was typed since its last revision."""
    edits = []
    for row in reading.rows(documents, order=(desc(documents.c.changed), documents.c.id), limit=MAX_WORKING_NOTES):
        revision = _find_last_revision(reading, row.id)
        time = parse_timestamp(row.changed)
        if revision is None or revision.cause != "typed" or time is None:
            continue  # imported and accepted texts were not typed
        typed = [
            edit for edit in find_edits(revision.text, row.text) if row.text[edit.new_start : edit.new_end].strip()
        ]
        if typed:
            end = typed[-1].new_end
            start = max(min(edit.new_start for edit in typed if edit.new_end > end - QUOTE_CHARS), end - QUOTE_CHARS)
            edits.append(_Action(time, row.text[start:end], Position(row.id, end), title=row.title))
    return edits


def _find_last_revision(reading: ReadTransaction, document_id: str) -> Row[Any] | None:
    of_document = revisions.c.document_id == document_id
    rows = reading.rows(revisions, of_document, order=(desc(revisions.c.revision),), limit=1)
    return rows[0] if rows else None
