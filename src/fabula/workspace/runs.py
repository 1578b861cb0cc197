"""What a person can do with what a model wrote: list it, accept or reject it, ask again, and sum up its costs."""

from __future__ import annotations

import re
from typing import get_args

from msgspec.structs import replace

from fabula.codex import Codex
from fabula.context.request import Request
from fabula.conversation.documents import get_document_id
from fabula.conversation.model import Message
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import advise, is_word, message
from fabula.llm import runs
from fabula.llm.runs import GenerationRun, SpendingGroup, SpendingTotal
from fabula.llm.tables import runs as run_rows
from fabula.manuscript.tables import documents as document_rows
from fabula.settings.values import get_value
from fabula.store.transaction import ReadTransaction
from fabula.text.lookup import find_by_name, find_matches
from fabula.text.offsets import check_cursor, normalise
from fabula.workspace import accepting
from fabula.workspace.accepting import AcceptedAnswer
from fabula.workspace.arguments import PositiveInt
from fabula.workspace.chapters import find_chapter
from fabula.workspace.cursor import find_words, read_cursor
from fabula.workspace.document_conversations import accept_answer, find_answer, take_off_path
from fabula.workspace.verbs import ProjectVerbs

LAST = message("last")  # as a person types it: names the latest run
SEARCHED_RUNS = 1000  # the latest ones, among which a run is found by the beginning of its id
_MONTH = re.compile(r"\d{4}(?:-(?:0[1-9]|1[0-2]))?")


class RunVerbs(ProjectVerbs):
    """The runs of an open project: every answer of a model, with what it saw and what it cost."""

    def list_runs(self, *, limit: PositiveInt = 20) -> list[GenerationRun]:
        """List the latest runs, the latest first."""
        with self._read() as reading:
            return runs.list_runs(reading, limit=limit)

    def find(self, run: str) -> GenerationRun:
        """Return the run of that id, the one whose id begins so, or the `last` one."""
        with self._read() as reading:
            return runs.get_run(reading, _find_id(reading, run))

    def find_recorded(self, run: str) -> Message | None:
        """Return the message that records an answer in the conversation of its chapter, if there is one."""
        with self._read() as reading:
            return find_answer(reading, _find_id(reading, run))

    def read_prompt(self, run: str) -> str:
        """Return the prompt of a run, if the settings said to keep it."""
        prompt = self.find(run).prompt
        if prompt is None:
            raise FabulaError(
                Code.REQUEST_INVALID,
                message(
                    "The prompt of this run was not kept. {advice}",
                    advice=advise(
                        message("To keep prompts from now on: fabula setting set --user runs.keepPrompts true"),
                        message("The setting `runs.keepPrompts` of the person keeps prompts from now on."),
                    ),
                ),
            )
        return prompt

    def accept(
        self,
        run: str,
        *,
        text: str | None = None,
        beat: bool = False,
        target: tuple[int, int] | None = None,
        expected_revision: int | None = None,
    ) -> AcceptedAnswer:
        """Put an answer into the document, as it is or as the writer changed it; with `beat`, its beat is done.

        A text that was changed or pasted is checked by program like any answer; what it breaks is recorded and said.
        Where the document was changed since the request, `target` says where the answer stands in the expected
        revision: the begin and the end of the words that it replaces, or twice the place where it is inserted.
        """
        codex = self._view.snapshot(Codex)
        known_names = [name for entry in (codex.entries if codex is not None else ()) for name in entry.names]
        view = self._view  # as it is before the text is in it
        with self._write(message("answer accepted")) as tx:
            run_id = _find_answer_id(tx, run)
            accepted = accepting.accept(
                tx, run_id, known_names, text=text, beat=beat, target=target, expected=expected_revision
            )
            accepted_run = runs.get_run(tx, run_id)
            accept_answer(tx, view, accepted_run, normalise(accepted_run.answer if text is None else text))
            if get_value(tx, "judge.policy") == "off":
                return accepted
            return replace(accepted, verdict=accepting.judge_accepted(tx, run_id, view, text))

    def propose(
        self,
        chapter: str,
        text: str,
        *,
        replaces: str = "",
        place: str = "",
        reason: str = "",
        proposer: str = "proposal",
    ) -> GenerationRun:
        """Record a text that another program proposes for a chapter; a person accepts or rejects it like an answer.

        It goes in place of words that stand in the chapter once (`replaces`), to a place such as `after 'words'`, or
        to the end.
        """
        proposed, view = normalise(text), self._view
        with self._write() as tx:
            found = find_chapter(tx, chapter)
            stored = tx.require(document_rows, id=found.id).text
            if not proposed.strip() or proposed == replaces:
                raise FabulaError(
                    Code.TEXT_INVALID, message("The proposal changes nothing. Write the new text. Nothing was changed.")
                )
            if replaces and place:
                raise FabulaError(
                    Code.REQUEST_INVALID,
                    message("Name either the words to replace or a place, not both. Nothing was changed."),
                )
            cursor, selection = read_cursor(place, stored) if place else len(stored), None
            if replaces:
                selection = find_words(normalise(replaces), stored)
                cursor = selection[1]
            run_id = accepting.propose(
                tx,
                found.id,
                proposed,
                selection=selection,
                cursor=check_cursor(cursor, len(stored)),
                reason=reason,
                proposer=proposer,
            )
            if get_value(tx, "judge.policy") != "off":
                accepting.judge_accepted(tx, run_id, view, None)
            return runs.get_run(tx, run_id)

    def check_acceptable(self, *, variants: PositiveInt) -> None:
        """Refuse, before anything is sent, what could not be accepted at once when it comes."""
        if variants > 1:
            raise FabulaError(
                Code.REQUEST_INVALID,
                message(
                    "Only a single answer can be accepted at once. {advice}",
                    advice=advise(
                        message("Choose among variants with: fabula accept"),
                        message("Accept one of the variants when they are there."),
                    ),
                ),
            )
        _ = self._store  # outside the store nothing can be accepted

    def reject(self, run: str) -> GenerationRun:
        """Reject an answer; return its run."""
        with self._write(message("answer rejected")) as tx:
            rejected = accepting.reject(tx, _find_answer_id(tx, run))
            take_off_path(tx, rejected.id)
            return rejected

    def request_again(self, run: str, new: Request | None = None) -> Request:
        """Return the request of a run, to be made once more at the same place; its answer is rejected.

        Window, attachments and any instruction are those of `new`, if one is given.
        """
        wish = new or Request(project_id=self._project.id)
        with self._write() as tx:
            earlier, place = accepting.retry(tx, _find_id(tx, run))
            if runs.get_run(tx, earlier.id).outcome in ("rejected", "retried"):
                take_off_path(tx, earlier.id)
        return self._project.request(
            skill_id=earlier.skill_id,
            document_id=earlier.document_id,
            conversation_id="" if get_document_id(earlier.conversation_id) else earlier.conversation_id,
            with_history=wish.with_history,
            cursor=place.cursor if earlier.document_id else None,
            selection=place.selection,
            additional_input=wish.additional_input or place.instruction,
            recipe=place.recipe,
            perspective=place.perspective,
            character=place.character,
            include=place.include,
            exclude=place.exclude,
            window=wish.window,
            encoding=wish.encoding,
            attachments=wish.attachments,
        )

    def sum_spending(self, *, month: str = "", by: str = "model") -> list[SpendingTotal]:
        """Sum up costs by model, by skill or by day: of a month such as 2026-11, of a year, or of all time."""
        if month and not _MONTH.fullmatch(month):
            raise FabulaError(
                Code.REQUEST_INVALID,
                message("{month!r} is neither a month such as 2026-11 nor a year such as 2026.", month=month),
            )
        group = next((one for one in get_args(SpendingGroup) if one == by), None)
        if group is None:
            raise FabulaError(
                Code.REQUEST_INVALID,
                message("Costs can be summed up by model, by skill or by day, not by {by!r}.", by=by),
            )
        with self._read() as reading:
            return runs.sum_spending(reading, month=month, by=group)


def _find_answer_id(reading: ReadTransaction, run: str) -> str:
    """Return the id of a run to decide on; the `last` one has ended, and not before it wrote anything.

    A run that is being written, or was when its process was killed, is named by its id.
    """
    if not is_word(run, LAST):
        return _find_id(reading, run)
    for latest in runs.list_runs(reading, limit=SEARCHED_RUNS):
        if latest.outcome != "begun" and (latest.answer.strip() or latest.outcome not in runs.UNFINISHED_OUTCOMES):
            return latest.id
    raise FabulaError(
        Code.STORE_NOT_FOUND,
        message(
            "No model has written anything here yet. {advice}",
            advice=advise(message("Write: fabula write PROJECT"), message("Let one write first.")),
        ),
    )


def _find_id(reading: ReadTransaction, run: str) -> str:
    if reading.row(run_rows, id=run) is not None:
        return run
    if is_word(run, LAST) and (latest := runs.list_runs(reading, limit=1)):
        return latest[0].id
    searched = runs.list_runs(reading, limit=SEARCHED_RUNS)
    if not find_matches(searched, run):
        raise FabulaError(
            Code.STORE_NOT_FOUND,
            message(
                "There is no answer {name!r}. {advice} Nothing was changed.",
                name=run,
                advice=advise(
                    message("Say `last`, or a number that `fabula runs` shows."),
                    message("Say `last`, or a number or an id from the list of runs."),
                ),
            ),
        )
    return find_by_name(searched, run, what=message("run")).id
