"""What a person can do with what a model wrote: list it, accept or reject it, ask again, and sum up its costs."""

from __future__ import annotations

import re

from msgspec.structs import replace

from fabula.context.request import Request
from fabula.core.errors import Code, FabulaError
from fabula.llm import runs
from fabula.llm.runs import GenerationRun, SpendingTotal
from fabula.llm.tables import runs as run_rows
from fabula.store.transaction import ReadTransaction
from fabula.workspace import accepting
from fabula.workspace.accepting import AcceptedAnswer
from fabula.workspace.verbs import ProjectVerbs

LAST = "last"  # names the latest run
SEARCHED_RUNS = 1000  # the latest ones, among which a run is found by the beginning of its id
_MONTH = re.compile(r"\d{4}(?:-(?:0[1-9]|1[0-2]))?")


class RunVerbs(ProjectVerbs):
    """The runs of an open project: every answer of a model, with what it saw and what it cost."""

    def list_runs(self, *, limit: int = 20) -> list[GenerationRun]:
        """List the latest runs, the latest first."""
        with self._read() as reading:
            return runs.list_runs(reading, limit=limit)

    def find(self, run: str) -> GenerationRun:
        """Return the run of that id, the one whose id begins so, or the `last` one."""
        with self._read() as reading:
            return runs.get_run(reading, _find_id(reading, run))

    def read_prompt(self, run: str) -> str:
        """Return the prompt of a run, if the settings said to keep it."""
        prompt = self.find(run).prompt
        if prompt is None:
            raise FabulaError(
                Code.REQUEST_INVALID,
                "The prompt of this run was not kept. Prompts are kept from now on with: "
                "fabula setting set --user runs.keepPrompts true",
            )
        return prompt

    def accept(self, run: str, *, text: str | None = None, beat: bool = False) -> AcceptedAnswer:
        """Put an answer into the document, as it is or as the writer changed it; with `beat`, its beat is done."""
        run_id, user = self.find(run).id, self._project.principal.user
        return accepting.accept(self._store, self._project.id, run_id, text=text, beat=beat, user=user)

    def check_acceptable(self, *, variants: int) -> None:
        """Refuse, before anything is sent, what could not be accepted at once when it comes."""
        if variants > 1:
            raise FabulaError(
                Code.REQUEST_INVALID,
                "One answer can be accepted at once: choose among variants with fabula accept.",
            )
        _ = self._store  # outside the store nothing can be accepted

    def reject(self, run: str) -> GenerationRun:
        """Reject an answer; return its run."""
        return accepting.reject(self._store, self._project.id, self.find(run).id, user=self._project.principal.user)

    def request_again(self, run: str, new: Request | None = None) -> Request:
        """Return the request of a run, to be made once more at the same place; its answer is rejected.

        Window, attachments and any instruction are those of `new`, if one is given.
        """
        run_id, user = self.find(run).id, self._project.principal.user
        again = accepting.request_again(self._store, self._project, run_id, user=user)
        if new is None:
            return again
        return replace(
            again,
            window=new.window,
            encoding=new.encoding,
            attachments=new.attachments,
            additional_input=new.additional_input or again.additional_input,
        )

    def sum_spending(self, *, month: str = "", by: str = "model") -> list[SpendingTotal]:
        """Sum up costs by model or by skill: of a month such as 2026-11, of a year, or of all time."""
        if month and not _MONTH.fullmatch(month):
            raise FabulaError(Code.REQUEST_INVALID, f"{month!r} is no month such as 2026-11, and no year.")
        if by not in ("model", "skill"):
            raise FabulaError(Code.REQUEST_INVALID, f"Costs are summed up by model or skill, not by {by!r}.")
        with self._read() as reading:
            return runs.sum_spending(reading, month=month, by="model" if by == "model" else "skill")


def _find_id(reading: ReadTransaction, run: str) -> str:
    if reading.row(run_rows, id=run) is not None:
        return run
    latest = runs.list_runs(reading, limit=1 if run == LAST else SEARCHED_RUNS)
    found = [one.id for one in latest if run == LAST or one.id.startswith(run)]
    if len(found) != 1:
        how_many = "Several runs begin" if found else "No run begins"
        raise FabulaError(Code.STORE_NOT_FOUND, f"{how_many} with {run!r}. Look at: fabula runs PROJECT")
    return found[0]
