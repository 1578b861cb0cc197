"""The needs job: a model is asked which earlier details a scene needs; its questions stay with the place (cdx-11).

The request is made by the ordinary engine at the place and with the eyes of whoever wrote there, so the model is told
nothing that they may not know. A failure changes nothing: prompts stay as they were. An answer that cannot be read
counts as no question, so that the same place is not asked for again and again.
"""

from __future__ import annotations

from functools import partial

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.core.story import Position, Vantage
from fabula.jobs.cancellation import CancellationToken
from fabula.jobs.model import Job, JobOutcome
from fabula.jobs.triggers.needs import read_needs_vantage
from fabula.manuscript.model import Manuscript
from fabula.manuscript.tables import documents
from fabula.search.need_edits import store_place
from fabula.search.needs import Needs, read_questions
from fabula.skills.structured_answer import parse_rows
from fabula.store.transaction import WriteTransaction
from fabula.workspace.handlers.background_model import find_background_model
from fabula.workspace.views import ProjectViews

SKILL = "needs"


def ask_for_needs(views: ProjectViews, job: Job, token: CancellationToken) -> JobOutcome:
    """Ask the background model what a scene needs, if the settings allow it and it was not asked there before."""
    view, vantage = views.view(job.project_id), read_needs_vantage(job.work)
    needs, here = view.snapshot(Needs), vantage.position if vantage is not None else None
    document = (view.snapshot(Manuscript) or Manuscript()).by_id.get(here.document) if here is not None else None
    if needs is None or vantage is None or here is None or document is None or here.offset > len(document.text):
        return JobOutcome()
    model = find_background_model(views, job.project_id, token)
    if model is None or not needs.is_due(vantage, document.text, here.offset):
        return JobOutcome()
    answer = model.run_skill(SKILL, "", document_id=here.document, vantage=vantage)
    rows = parse_rows(answer, "needs")
    store = partial(_store, text=document.text, position=here, vantage=vantage, questions=read_questions(rows or ()))
    if rows is None:
        with views.store.write(project=job.project_id) as tx:
            store(tx)
        raise FabulaError(
            Code.LLM_ANSWER_INVALID,
            message("The model did not answer with a readable list of questions. Nothing was asked for."),
        )
    return JobOutcome(write=store)


def _store(
    tx: WriteTransaction, *, text: str, position: Position, vantage: Vantage, questions: tuple[str, ...]
) -> None:
    """Store the questions, unless the text has changed: then the place is another one, and is asked for again."""
    row = tx.row(documents, id=position.document)
    if row is not None and row.text == text:
        store_place(tx, position, vantage.name, questions)
