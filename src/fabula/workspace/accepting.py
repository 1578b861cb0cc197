"""Accept, edit, reject or retry an answer of a model, each within one transaction (man-2, mem-2).

Accepting an answer inserts its text where the skill says, marks that text as written by a model, sets the outcome of
the run and records the outcome for memory. If the document was changed since the request, the caller says where the
answer stands now and in which revision; otherwise nothing is written and the writer gets an error. A rejected answer
can be accepted later; an accepted one cannot be rejected.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fabula.codex import Entry
from fabula.codex import edits as codex_edits
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.core.story import Position
from fabula.core.view import View
from fabula.llm import runs
from fabula.llm.runs import GenerationRun
from fabula.llm.tables import runs as run_rows
from fabula.manuscript import documents, outline
from fabula.manuscript.model import Manuscript, hash_text
from fabula.manuscript.synopses import editing as synopses
from fabula.manuscript.tables import beats
from fabula.manuscript.tables import documents as document_rows
from fabula.memory import outcomes
from fabula.memory.model import Decision, SuggestionOutcome
from fabula.memory.tables import outcomes as outcome_rows
from fabula.skills.extracted_entries import parse_entries
from fabula.skills.insertion import InsertionPoint, read_insertion_point, separate_insertion
from fabula.skills.judge import JudgeVerdict, check_by_program
from fabula.skills.model import AnswerAction
from fabula.store.transaction import WriteTransaction
from fabula.text.diff import find_edits, map_range
from fabula.text.offsets import normalise

_INSERTING_SKILL, _REPLACING_SKILL = "continue", "rewrite"  # which a proposal of another program stands for
_WORDS_BEFORE = 5  # that say where a text was put
_CHARACTERS_BEFORE = 60


class AcceptedAnswer(Struct, frozen=True, kw_only=True):
    """The result of accepting an answer: the document's new revision, or the new codex entries."""

    revision: int | None = None
    title: str = ""  # of the document
    words_before: str = ""  # the last words before the text, where it was put into the document
    entries: tuple[Entry, ...] = ()
    beat: str = ""  # the text of the beat that was marked as done
    verdict: JudgeVerdict = JudgeVerdict()  # on a text that is not the answer that was judged


def accept(
    tx: WriteTransaction,
    run_id: str,
    known_names: Sequence[str] = (),
    *,
    text: str | None = None,
    beat: bool = False,
    target: tuple[int, int] | None = None,
    expected: int | None = None,
) -> AcceptedAnswer:
    """Accept an answer, or the writer's edited `text` of it; with `beat`, mark the beat it was written for as done.

    `target` is where prose goes in the `expected` revision of a document that may have been changed since the request;
    without a revision it is refused, as nothing tells which text it counts in.

    An answer that proposes codex entries makes none of those whose names are known.
    """
    if target is not None and expected is None:
        raise FabulaError(
            Code.REQUEST_INVALID,
            message(
                "The place of an answer counts in one revision of the chapter. Send the revision with it. "
                "Nothing was changed."
            ),
        )
    run = runs.get_run(tx, run_id)
    answer = normalise(run.answer)
    accepted_text = answer if text is None else normalise(text)
    if not accepted_text.strip():
        raise FabulaError(
            Code.TEXT_INVALID, message("The answer is empty, so there is nothing to accept. Nothing was changed.")
        )
    is_edited = accepted_text != answer
    _reopen(tx, run)
    # The outcome is set first, so that accepting the same answer twice fails with exactly that error.
    runs.set_outcome(tx, run_id, "edited" if is_edited else "accepted")
    place = read_insertion_point(run.assembly_summary)
    result = _store_answer(tx, run, place, accepted_text, known_names, target, expected)
    beat_text = _complete_beat(tx, run, place) if beat else ""
    decision = Decision.REWRITTEN if is_edited else Decision.ACCEPTED
    _record_decision(tx, run, place, decision, accepted_text if is_edited else "")
    return replace(result, beat=beat_text)


def propose(
    tx: WriteTransaction,
    document_id: str,
    text: str,
    *,
    selection: tuple[int, int] | None,
    cursor: int,
    reason: str,
    proposer: str,
) -> str:
    """Record a text that another program proposes for a document, as an open answer; return the id of its run.

    Without a selection to replace, it is for the cursor.
    """
    row = tx.require(document_rows, id=document_id)
    place = InsertionPoint(
        answer_action=AnswerAction.INSERT if selection is None else AnswerAction.REPLACE,
        cursor=cursor,
        selection=selection,
        stored_offset=cursor,
        text_hash=hash_text(row.text),
        selected_hash="" if selection is None else hash_text(row.text[slice(*selection)]),
        instruction=reason,
    )
    run = GenerationRun(
        model=proposer,
        skill_id=_INSERTING_SKILL if selection is None else _REPLACING_SKILL,
        document_id=document_id,
        answer=text,
        assembly_summary={"place": msgspec.to_builtins(place)},
    )
    return runs.record_run(tx, run)


def judge_accepted(tx: WriteTransaction, run_id: str, view: View, text: str | None) -> JudgeVerdict:
    """Check by program a text that is accepted in place of the answer that was judged, and record it with the run.

    Such a text was edited by the writer, or written elsewhere and pasted.
    """
    run = runs.get_run(tx, run_id)
    place = read_insertion_point(run.assembly_summary)
    accepted_text = normalise(run.answer if text is None else text)
    is_judged = bool(run.verdicts) and accepted_text == normalise(run.answer)
    if is_judged or not place.answer_action.is_prose:
        return JudgeVerdict()
    position = Position(run.document_id, max(place.stored_offset or 0, 0)) if run.document_id else None
    manuscript = view.snapshot(Manuscript) or Manuscript()
    known_texts = [document.text for document in manuscript.documents]
    verdict = JudgeVerdict(findings=tuple(check_by_program(accepted_text, view, position, known_texts)))
    recorded = [*run.verdicts, msgspec.to_builtins(verdict)]
    tx.update_rows(run_rows, {"verdicts": recorded}, run_rows.c.id == run_id)
    return verdict


def reject(tx: WriteTransaction, run_id: str, *, retry: bool = False) -> GenerationRun:
    """Reject an answer, or mark it as retried if `retry`; return its run."""
    run = runs.get_run(tx, run_id)
    runs.set_outcome(tx, run_id, "retried" if retry else "rejected")
    _record_decision(tx, run, read_insertion_point(run.assembly_summary), Decision.REJECTED)
    return run


def retry(tx: WriteTransaction, run_id: str) -> tuple[GenerationRun, InsertionPoint]:
    """Return a run and the place it was written for, for another try; an answer that is still open becomes retried."""
    run = runs.get_run(tx, run_id)
    place = read_insertion_point(run.assembly_summary)
    row = tx.row(document_rows, id=run.document_id) if run.document_id else None
    if run.document_id and (row is None or not place.matches(row.text)):
        raise FabulaError(
            Code.DOCUMENT_STALE,
            message("The chapter was changed since that answer was written for it. Ask anew, from where you are now."),
        )
    if run.outcome not in runs.FINAL_OUTCOMES:
        reject(tx, run_id, retry=True)
    return run, place


def _reopen(tx: WriteTransaction, run: GenerationRun) -> None:
    """Reopen a rejected or retried answer, and delete the rejection from memory's outcomes."""
    is_rejected = run_rows.c.outcome.in_(["rejected", "retried"])
    if tx.update_rows(run_rows, {"outcome": "open"}, run_rows.c.id == run.id, is_rejected):
        same_answer = outcome_rows.c.offered == normalise(run.answer[: outcomes.MAX_CHARS])
        tx.delete_rows(outcome_rows, same_answer, outcome_rows.c.fate == Decision.REJECTED.value)


def _store_answer(
    tx: WriteTransaction,
    run: GenerationRun,
    place: InsertionPoint,
    text: str,
    known_names: Sequence[str],
    target: tuple[int, int] | None,
    expected: int | None,
) -> AcceptedAnswer:
    """Store an accepted answer as its skill says: in the document, as a synopsis, or as codex entries."""
    match place.answer_action:
        case AnswerAction.SYNOPSIS:
            _require_same_text(tx, run, place)
            return AcceptedAnswer(revision=synopses.write_synopsis(tx, run.document_id, text, origin="model"))
        case AnswerAction.INSERT | AnswerAction.REPLACE:
            return _insert_text(tx, run, place, text, target, expected)
        case AnswerAction.ENTRIES:
            return AcceptedAnswer(entries=_create_entries(tx, run, text, known_names))
        case _:
            return AcceptedAnswer()


def _require_same_text(tx: WriteTransaction, run: GenerationRun, place: InsertionPoint) -> str:
    """Return the document's text; raise an error if it is not the text that the answer was written for."""
    row = tx.require(document_rows, id=run.document_id)
    if not place.matches(row.text):
        raise FabulaError(
            Code.DOCUMENT_STALE,
            message(
                "The chapter was changed since this answer was written for it. Copy what you want of the answer. "
                "Nothing was changed."
            ),
            current=row.version,
        )
    return str(row.text)


def _insert_text(
    tx: WriteTransaction,
    run: GenerationRun,
    place: InsertionPoint,
    text: str,
    target: tuple[int, int] | None,
    expected: int | None,
) -> AcceptedAnswer:
    """Insert the text into the document, mark it as the model's, and return where it is."""
    replaces = place.answer_action is AnswerAction.REPLACE and place.selection is not None
    if target is None:
        document_text = _require_same_text(tx, run, place)
        start, end = place.selection if replaces and place.selection is not None else (place.cursor, place.cursor)
    else:
        document_text = str(tx.require(document_rows, id=run.document_id).text)
        start, end = target
    if start is None or end is None or not 0 <= start <= end <= len(document_text):
        raise FabulaError(
            Code.TEXT_INVALID, message("The place that this was written for is gone. Nothing was changed.")
        )
    if target is not None and (replaces or start < end) and not place.replaces(document_text[start:end]):
        raise FabulaError(
            Code.DOCUMENT_STALE,
            message(
                "The words that this answer was written to replace were changed since. Copy what you want of the "
                "answer. Nothing was changed."
            ),
        )
    head, tail = document_text[:start], document_text[end:]
    if start == end:  # inserted words are separated from their neighbours
        before, behind = separate_insertion(head, text, tail)
        head, tail = head + before, behind + tail
    revision = documents.write(tx, run.document_id, head + text + tail, expected=expected, cause="accepted")
    answer = normalise(run.answer) or text  # a run whose prompt was only copied has no answer on record
    first, last = map_range(find_edits(answer, text), 0, len(answer))  # without what the writer added around it
    if text[first:last].strip():
        documents.mark_accepted(tx, run.document_id, len(head) + first, len(head) + last, run_id=run.id)
    words_before = " ".join(head.split()[-_WORDS_BEFORE:])[-_CHARACTERS_BEFORE:]
    title = tx.require(document_rows, id=run.document_id).title
    return AcceptedAnswer(revision=revision, title=title, words_before=words_before)


def _complete_beat(tx: WriteTransaction, run: GenerationRun, place: InsertionPoint) -> str:
    """Mark the beat that the answer was written for as done, and return its text; an error if it is gone."""
    open_beats = (beats.c.document_id == run.document_id, beats.c.done == 0)
    for row in tx.rows(beats, *open_beats, order=(beats.c.place, beats.c.id)):
        if hash_text(row.text) == place.beat_hash:
            outline.update_beat(tx, row.id, {"done": True})
            return str(row.text)
    raise FabulaError(
        Code.TEXT_INVALID, message("This was not written for a beat that is still open. Nothing was changed.")
    )


def _create_entries(
    tx: WriteTransaction, run: GenerationRun, answer: str, known_names: Sequence[str]
) -> tuple[Entry, ...]:
    """Create the codex entries that an answer proposes, if their names are new and occur in the document."""
    text: str = tx.require(document_rows, id=run.document_id).text
    entries = parse_entries(answer, text, run.document_id, known_names)
    if not entries:
        raise FabulaError(
            Code.TEXT_INVALID,
            message("None of these entries is both new and named in the text. Nothing was changed."),
        )
    for entry in entries:
        codex_edits.create(tx, entry)
    return tuple(entries)


def _record_decision(
    tx: WriteTransaction, run: GenerationRun, place: InsertionPoint, decision: Decision, rewritten_text: str = ""
) -> None:
    """Record for memory what the writer did with an answer, if the answer is prose."""
    if not run.answer.strip() or not place.answer_action.is_prose:
        return
    position = Position(run.document_id, max(place.stored_offset or 0, 0)) if run.document_id else None
    sources = run.assembly_summary.get("sources", ())
    outcomes.record_outcome(
        tx,
        SuggestionOutcome(
            suggestion=run.answer[: outcomes.MAX_CHARS],
            decision=decision,
            rewritten_text=rewritten_text[: outcomes.MAX_CHARS],
            skill=run.skill_id,
            position=position,
            memory_sources=outcomes.find_memory_sources(source for source in sources if isinstance(source, str)),
        ),
    )
