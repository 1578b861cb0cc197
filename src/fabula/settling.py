"""What becomes of an answer: accepted, edited, rejected or asked for again, in one transaction each.

Accepting puts the text where its skill says, marks it as the model's, settles the run and tells memory. If
the document was changed since the answer was written for it, nothing is changed and the writer is told.
"""

from __future__ import annotations

from typing import Any

from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.llm import runs
from fabula.llm.runs import Run, State
from fabula.manuscript import documents, synopses
from fabula.manuscript.tables import documents as document_rows
from fabula.memory import outcomes
from fabula.memory.model import Fate, Outcome
from fabula.skills.model import Answer
from fabula.store.store import OWNER, Store
from fabula.store.transaction import Writing

_OF_MEMORY = ("memory:", "style:")


def accept(store: Store, project_id: str, run_id: str, *, text: str | None = None, user: str = OWNER) -> int | None:
    """Take an answer, as it is or as the writer changed it; says the document's new revision, if it has one."""
    with store.write(project=project_id, user=user) as tx:
        run = runs.get(tx, run_id)
        taken = run.answer if text is None else text
        if not taken.strip():
            raise FabulaError(
                Code.TEXT_INVALID, "There is nothing to accept: the answer is empty. Nothing was changed."
            )
        edited = taken != run.answer
        revision = _put(tx, run, taken)
        runs.settle(tx, run_id, "edited" if edited else "accepted")
        _tell_memory(tx, run, Fate.REWRITTEN if edited else Fate.ACCEPTED, taken if edited else "")
        return revision


def reject(store: Store, project_id: str, run_id: str, *, retry: bool = False, user: str = OWNER) -> None:
    """Leave an answer; `retry` where another one is asked for."""
    outcome: State = "retried" if retry else "rejected"
    with store.write(project=project_id, user=user) as tx:
        run = runs.get(tx, run_id)
        runs.settle(tx, run_id, outcome)
        _tell_memory(tx, run, Fate.REJECTED, "")


def _put(tx: Writing, run: Run, text: str) -> int | None:
    place: dict[str, Any] = dict(run.saw.get("place") or {})
    answer = Answer(place.get("answer", Answer.SHOW))
    if answer is Answer.SYNOPSIS:
        return synopses.write(tx, run.document_id, text, origin="model")
    if answer not in (Answer.INSERT, Answer.REPLACE):
        return None
    row = tx.need(document_rows, id=run.document_id)
    if row.version != place.get("revision"):
        raise FabulaError(
            Code.DOCUMENT_STALE,
            "The document was changed since this answer was written for it. Copy what you want of it. "
            "Nothing was changed.",
            current=row.version,
        )
    chosen = place.get("selection")
    start, end = chosen if answer is Answer.REPLACE and chosen else [place.get("cursor")] * 2
    if not isinstance(start, int) or not isinstance(end, int) or not 0 <= start <= end <= len(row.text):
        raise FabulaError(Code.TEXT_INVALID, "The place this was written for is gone. Nothing was changed.")
    changed = row.text[:start] + text + row.text[end:]
    revision = documents.write(tx, run.document_id, changed, expected=row.version, cause="accepted")
    stands = tx.need(document_rows, id=run.document_id).text
    if stands[start : start + len(text)] == text:
        documents.mark(tx, run.document_id, start, start + len(text), run_id=run.id)
    return revision


def _tell_memory(tx: Writing, run: Run, fate: Fate, became: str) -> None:
    if not run.answer.strip():
        return
    place: dict[str, Any] = dict(run.saw.get("place") or {})
    at = Position(run.document_id, place.get("cursor") or 0) if run.document_id else None
    told = tuple(source for source in run.saw.get("sources", ()) if source.startswith(_OF_MEMORY))
    outcomes.record(tx, Outcome(offered=run.answer, fate=fate, became=became, skill=run.skill_id, at=at, recalled=told))
