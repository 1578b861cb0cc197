"""What becomes of an answer: accepted, edited, rejected or asked for again, in one transaction each.

Accepting puts the text where its skill says, marks it as the model's, settles the run and tells memory. If
the document reads otherwise than when the answer was written for it, nothing is changed and the writer is told.
"""

from __future__ import annotations

from msgspec import Struct

from fabula.codex import edits as codex
from fabula.codex.entry import Entry
from fabula.codex.model import Codex
from fabula.context.request import Request
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.llm import runs
from fabula.llm.runs import Run, State
from fabula.llm.tables import runs as run_rows
from fabula.manuscript import documents, outline
from fabula.manuscript.model import text_hash
from fabula.manuscript.synopses import editing as synopses
from fabula.manuscript.tables import beats
from fabula.manuscript.tables import documents as document_rows
from fabula.memory import outcomes
from fabula.memory.model import Fate, Outcome
from fabula.memory.tables import outcomes as outcome_rows
from fabula.skills.extracted_entries import read_entries
from fabula.skills.insertion import Place, place_in
from fabula.skills.joining import space_between
from fabula.skills.model import Answer
from fabula.store.store import OWNER, Store
from fabula.store.transaction import Writing
from fabula.text.offsets import difference, normalise
from fabula.workspace.project import Fabula
from fabula.workspace.views import Library


class Taken(Struct, frozen=True, kw_only=True):
    """What came of an accepted answer: the document's new revision, or the entries that were made."""

    revision: int | None = None
    entries: tuple[Entry, ...] = ()
    beat: str = ""  # the beat of the outline that was ticked off with it


def accept(
    store: Store, project_id: str, run_id: str, *, text: str | None = None, beat: bool = False, user: str = OWNER
) -> Taken:
    """Take an answer, as it is or as the writer changed it; with `beat`, the beat it was written for is done."""
    with store.read(project=project_id) as reading:
        entries = place_in(runs.get(reading, run_id).saw).answer is Answer.ENTRIES
    known = _known(store, project_id) if entries else ()
    with store.write(project=project_id, user=user) as tx:
        run = runs.get(tx, run_id)
        offered = normalise(run.answer)
        taken = offered if text is None else normalise(text)
        if not taken.strip():
            raise FabulaError(
                Code.TEXT_INVALID, "There is nothing to accept: the answer is empty. Nothing was changed."
            )
        edited = taken != offered
        _take_up(tx, run)
        runs.settle(tx, run_id, "edited" if edited else "accepted")  # first: who comes second is told just that
        place = place_in(run.saw)
        made = _put(tx, run, place, taken, known)
        done = _tick_off(tx, run, place) if beat else ""
        _tell_memory(tx, run, Fate.REWRITTEN if edited else Fate.ACCEPTED, taken if edited else "")
        return Taken(revision=made.revision, entries=made.entries, beat=done)


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
    place = place_in(run.saw)
    if run.document_id and (row is None or not place.of(row.text)):
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
        cursor=place.cursor if run.document_id else None,
        selection=place.selection,
        additional_input=place.instruction,
        recipe=place.recipe,
        eyes=place.eyes,
        character=place.character,
        include=place.include,
        exclude=place.exclude,
    )


def _take_up(tx: Writing, run: Run) -> None:
    """An answer that was left may be taken after all, and then it was never rejected."""
    left = run_rows.c.outcome.in_(["rejected", "retried"])
    if tx.change(run_rows, {"outcome": "open"}, run_rows.c.id == run.id, left):
        offered = outcome_rows.c.offered == normalise(run.answer[: outcomes.LONGEST])
        tx.remove(outcome_rows, offered, outcome_rows.c.fate == Fate.REJECTED.value)


def _put(tx: Writing, run: Run, place: Place, text: str, known: tuple[str, ...]) -> Taken:
    match place.answer:
        case Answer.SYNOPSIS:
            _same_text(tx, run, place)
            return Taken(revision=synopses.write(tx, run.document_id, text, origin="model"))
        case Answer.INSERT | Answer.REPLACE:
            return Taken(revision=_written(tx, run, place, text))
        case Answer.ENTRIES:
            return Taken(entries=_entered(tx, run, text, known))
        case _:
            return Taken()


def _same_text(tx: Writing, run: Run, place: Place) -> str:
    """The document's text, if it is still the one that the answer was written for."""
    row = tx.need(document_rows, id=run.document_id)
    if not place.of(row.text):
        raise FabulaError(
            Code.DOCUMENT_STALE,
            "The document was changed since this answer was written for it. Copy what you want of it. "
            "Nothing was changed.",
            current=row.version,
        )
    return str(row.text)


def _written(tx: Writing, run: Run, place: Place, text: str) -> int:
    """The text in its place in the document, marked as the model's; the document's new revision."""
    stood = _same_text(tx, run, place)
    replaces = place.answer is Answer.REPLACE and place.selection is not None
    start, end = place.selection if replaces and place.selection is not None else (place.cursor, place.cursor)
    if start is None or end is None or not 0 <= start <= end <= len(stood):
        raise FabulaError(Code.TEXT_INVALID, "The place this was written for is gone. Nothing was changed.")
    head, tail = stood[:start], stood[end:]
    if not replaces:  # words that go between others have a space there
        head, tail = head + space_between(head, text), space_between(text, tail) + tail
    revision = documents.write(tx, run.document_id, head + text + tail, cause="accepted")
    offered = normalise(run.answer) or text  # nothing was offered where the prompt was handed over
    first, last = _still_its_own(offered, text)
    if first < last:
        documents.mark(tx, run.document_id, len(head) + first, len(head) + last, run_id=run.id)
    return revision


def _still_its_own(offered: str, taken: str) -> tuple[int, int]:
    """The stretch of an edited answer that is still the model's: without what the writer put before or behind it."""
    edit = difference(offered, taken)
    if (edit.start, edit.old_end, edit.new_end) == (len(offered), len(offered), len(taken)):
        return 0, len(offered)
    first = edit.new_end if edit.start == 0 else 0
    last = edit.start if edit.old_end == len(offered) else len(taken)
    return first, last


def _tick_off(tx: Writing, run: Run, place: Place) -> str:
    """The beat that was next when this was written is done, if it is still in the plan; its words."""
    planned = (beats.c.document_id == run.document_id, beats.c.done == 0)
    for row in tx.rows(beats, *planned, order=(beats.c.place, beats.c.id)):
        if text_hash(row.text) == place.beat:
            outline.change_beat(tx, row.id, {"done": True})
            return str(row.text)
    raise FabulaError(Code.TEXT_INVALID, "This was written for no beat that is still to be done. Nothing was changed.")


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
    place = place_in(run.saw)
    if not run.answer.strip() or not place.answer.prose:
        return
    at = Position(run.document_id, max(place.at or 0, 0)) if run.document_id else None
    sources = run.saw.get("sources", ())
    outcomes.record(
        tx,
        Outcome(
            offered=run.answer[: outcomes.LONGEST],
            fate=fate,
            became=became[: outcomes.LONGEST],
            skill=run.skill_id,
            at=at,
            recalled=outcomes.recalled(one for one in sources if isinstance(one, str)),
        ),
    )
