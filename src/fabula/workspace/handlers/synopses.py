"""The synopsis job: make synopses of chapters, by the background model or by extraction (cdx-6).

A job for one chapter asks the model, where there is one. A job for all chapters extracts sentences, which is fast, and
enqueues one job per chapter for the model, so that each has its own limits and can be listed and cancelled. When the
model fails, the extract is stored, and the job names the error and is tried again. Once the model has summarised a
chapter, it is asked for facts in it (`facts.py`).
"""

from __future__ import annotations

from functools import partial

from fabula.codex.characters import collect_characters
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import plural
from fabula.core.view import View
from fabula.jobs.cancellation import CancellationToken
from fabula.jobs.model import Job, JobOutcome
from fabula.jobs.queue import enqueue, is_valid_key
from fabula.jobs.triggers.documents import SYNOPSIS_JOB
from fabula.jobs.triggers.facts import queue_facts
from fabula.manuscript.model import Manuscript
from fabula.manuscript.synopses import editing as synopses
from fabula.manuscript.synopses.chapters import Chapter
from fabula.manuscript.synopses.plan import ChapterSynopses
from fabula.store.transaction import WriteTransaction
from fabula.workspace.handlers.background_model import find_background_model
from fabula.workspace.views import ProjectViews


def summarise_chapters(views: ProjectViews, job: Job, token: CancellationToken) -> JobOutcome:
    """Make the synopsis of a document's chapter, or all that are missing or stale; each is stored at once."""
    view = views.view(job.project_id)
    document = job.work.get("document")
    chapter = None if document is None else _find_chapter(view, str(document))
    if document is not None and chapter is None:
        return JobOutcome()  # the document is gone
    refresh = partial(
        synopses.refresh_synopses,
        views.store,
        job.project_id,
        language=view.project.language,
        characters=collect_characters(view),
        document_ids=None if chapter is None else [chapter.id],
    )
    model = find_background_model(views, job.project_id, token)
    if model is not None and chapter is not None:
        refresh(summariser=partial(model.summarise, document_id=chapter.documents[-1].id), origin="model")
        token.raise_if_cancelled()
    result = refresh(progress=lambda _done, _total: token.raise_if_cancelled())
    if result.failed:
        raise FabulaError(
            Code.JOB_FAILED,
            plural(len(result.failed), "{count} chapter has no synopsis.", "{count} chapters have no synopsis."),
        )
    if model is not None and chapter is None:
        return JobOutcome(write=partial(_enqueue_each, _list_extracted(views, job.project_id)))
    error = model.last_error if model is not None else None
    if error is not None and error.code is not Code.JOB_BUDGET:
        raise error
    if model is not None and error is None and chapter is not None:
        return JobOutcome(write=partial(queue_facts, documents=[one.id for one in chapter.documents]))
    return JobOutcome()


def _list_extracted(views: ProjectViews, project_id: str) -> list[str]:
    """The chapters whose synopses were extracted, which a model would improve."""
    with views.store.read(project=project_id) as reading:
        return [record.document_id for record in synopses.list_synopses(reading) if record.origin == "extract"]


def _enqueue_each(chapters: list[str], tx: WriteTransaction) -> None:
    for chapter in chapters:
        key = f"{SYNOPSIS_JOB}:{chapter}"
        if is_valid_key(key):
            enqueue(tx, SYNOPSIS_JOB, key, {"document": chapter})


def _find_chapter(view: View, document: str) -> Chapter | None:
    """Find the chapter that a document is part of."""
    chapters = ChapterSynopses.for_manuscript(view.snapshot(Manuscript) or Manuscript())
    number = chapters.chapter_numbers.get(document)
    return None if number is None else chapters.chapters[number]
