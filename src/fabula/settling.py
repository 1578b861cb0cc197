"""What becomes of an answer: accepted, edited, rejected or asked for again, in one transaction each.

Accepting puts the text where its skill says, marks it as the model's, settles the run and tells memory. If
the document was changed since the answer was written for it, nothing is changed and the writer is told.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from fabula.app import Fabula
from fabula.codex import service as codex
from fabula.codex.entry import Entry
from fabula.codex.model import Codex
from fabula.context.request import Request
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.library import Library
from fabula.llm import runs
from fabula.llm.runs import Run, State
from fabula.manuscript import documents, synopses
from fabula.manuscript.tables import documents as document_rows
from fabula.memory import outcomes
from fabula.memory.model import Fate, Outcome
from fabula.skills.entries import read_entries
from fabula.skills.model import Answer
from fabula.store.store import OWNER, Store
from fabula.store.transaction import Writing


class Taken(Struct, frozen=True, kw_only=True):
    """What came of an accepted answer: the document's new revision, or the entries that were made."""

    revision: int | None = None
    entries: tuple[Entry, ...] = ()


def accept(store: Store, project_id: str, run_id: str, *, text: str | None = None, user: str = OWNER) -> Taken:
    """Take an answer, as it is or as the writer changed it."""
    with store.read(project=project_id) as reading:
        known = _known(store, project_id) if _answer(runs.get(reading, run_id)) is Answer.ENTRIES else ()
    with store.write(project=project_id, user=user) as tx:
        run = runs.get(tx, run_id)
        taken = run.answer if text is None else text
        if not taken.strip():
            raise FabulaError(
                Code.TEXT_INVALID, "There is nothing to accept: the answer is empty. Nothing was changed."
            )
        edited = taken != run.answer
        made = _put(tx, run, taken, known)
        runs.settle(tx, run_id, "edited" if edited else "accepted")
        _tell_memory(tx, run, Fate.REWRITTEN if edited else Fate.ACCEPTED, taken if edited else "")
        return made


def reject(store: Store, project_id: str, run_id: str, *, retry: bool = False, user: str = OWNER) -> Run:
    """Leave an answer; `retry` where another one is asked for. Says which it was."""
    outcome: State = "retried" if retry else "rejected"
    with store.write(project=project_id, user=user) as tx:
        run = runs.get(tx, run_id)
        runs.settle(tx, run_id, outcome)
        _tell_memory(tx, run, Fate.REJECTED, "")
        return run


def again(store: Store, house: Fabula, run_id: str, *, user: str = OWNER) -> Request:
    """The request of a run, to be made once more at the same place; the answer that was there is left."""
    with store.read(project=house.view.project.id) as reading:
        run = runs.get(reading, run_id)
        row = reading.row(document_rows, id=run.document_id) if run.document_id else None
    place = _place(run)
    if run.document_id and (row is None or row.version != place.get("revision")):
        raise FabulaError(
            Code.DOCUMENT_STALE,
            "The document was changed since that answer was written for it. Ask anew, from where you stand now.",
        )
    if run.outcome not in runs.SETTLED:
        reject(store, house.view.project.id, run_id, retry=True, user=user)
    return house.request(
        skill_id=run.skill_id,
        document_id=run.document_id,
        conversation_id=run.conversation_id,
        cursor=place.get("cursor") if run.document_id else None,
        selection=place.get("selection"),
        additional_input=place.get("instruction", ""),
    )


def _put(tx: Writing, run: Run, text: str, known: tuple[str, ...]) -> Taken:
    match _answer(run):
        case Answer.SYNOPSIS:
            return Taken(revision=synopses.write(tx, run.document_id, text, origin="model"))
        case Answer.INSERT | Answer.REPLACE:
            return Taken(revision=_written(tx, run, text))
        case Answer.ENTRIES:
            return Taken(entries=_entered(tx, run, text, known))
        case _:
            return Taken()


def _written(tx: Writing, run: Run, text: str) -> int:
    """The text in its place in the document, marked as the model's; the document's new revision."""
    place = _place(run)
    row = tx.need(document_rows, id=run.document_id)
    if row.version != place.get("revision"):
        raise FabulaError(
            Code.DOCUMENT_STALE,
            "The document was changed since this answer was written for it. Copy what you want of it. "
            "Nothing was changed.",
            current=row.version,
        )
    chosen = place.get("selection")
    start, end = chosen if _answer(run) is Answer.REPLACE and chosen else [place.get("cursor")] * 2
    if not isinstance(start, int) or not isinstance(end, int) or not 0 <= start <= end <= len(row.text):
        raise FabulaError(Code.TEXT_INVALID, "The place this was written for is gone. Nothing was changed.")
    changed = row.text[:start] + text + row.text[end:]
    revision = documents.write(tx, run.document_id, changed, expected=row.version, cause="accepted")
    stands = tx.need(document_rows, id=run.document_id).text
    if stands[start : start + len(text)] == text:
        documents.mark(tx, run.document_id, start, start + len(text), run_id=run.id)
    return revision


def _entered(tx: Writing, run: Run, answer: str, known: tuple[str, ...]) -> tuple[Entry, ...]:
    """The entries an answer found, those that nobody is called by yet and that stand in the text."""
    text: str = tx.need(document_rows, id=run.document_id).text
    found = read_entries(answer, text, run.document_id, known)
    if not found:
        raise FabulaError(
            Code.TEXT_INVALID,
            "None of these is new and stands in the text, so there is nothing to take. Nothing was changed.",
        )
    for entry in found:
        codex.create(tx, entry)
    return tuple(found)


def _known(store: Store, project_id: str) -> tuple[str, ...]:
    """Every name in the codex of a book and its series."""
    there = Library(store).view(project_id).room(Codex)
    return tuple(name for entry in (there.entries if there is not None else ()) for name in entry.names)


def _tell_memory(tx: Writing, run: Run, fate: Fate, became: str) -> None:
    if not run.answer.strip() or not _answer(run).prose:
        return
    at = Position(run.document_id, _place(run).get("cursor") or 0) if run.document_id else None
    outcomes.record(
        tx,
        Outcome(
            offered=run.answer[: outcomes.LONGEST],
            fate=fate,
            became=became[: outcomes.LONGEST],
            skill=run.skill_id,
            at=at,
            recalled=outcomes.recalled(run.saw.get("sources", ())),
        ),
    )


def _place(run: Run) -> dict[str, Any]:
    return dict(run.saw.get("place") or {})


def _answer(run: Run) -> Answer:
    return Answer(_place(run).get("answer", Answer.SHOW))
