"""The synopsis job: make synopses of chapters, by the background model or by extraction (cdx-6).

A job for one chapter asks the model, where there is one. A job for all chapters extracts sentences, which is fast, and
enqueues one job per chapter for the model, so that each has its own limits and can be listed and cancelled. When the
model fails, the extract is stored, and the job names the error and is tried again.
"""

from __future__ import annotations

from functools import partial

from fabula.codex.characters import collect_characters
from fabula.core.errors import Code, FabulaError
from fabula.core.view import View
from fabula.jobs.cancellation import CancellationToken
from fabula.jobs.model import Job, JobOutcome
from fabula.jobs.queue import enqueue, is_valid_key
from fabula.jobs.triggers.documents import SYNOPSIS_JOB
from fabula.manuscript.model import Manuscript
from fabula.manuscript.synopses import editing as synopses
from fabula.manuscript.synopses.plan import ChapterSynopses
from fabula.store.transaction import WriteTransaction
from fabula.workspace.handlers.background_model import BackgroundModel, find_background_model
from fabula.workspace.views import ProjectViews


def summarise_chapters(views: ProjectViews, job: Job, token: CancellationToken) -> JobOutcome:
    """Make the synopsis of a document's chapter, or all that are missing or stale; each is stored at once."""
    view = views.view(job.project_id)
    chapter = _find_chapter(view, job.work.get("document"))
    if chapter == "":
        return JobOutcome()
    model = find_background_model(views, job.project_id, token)
    if model is not None and chapter is not None:
        _summarise_by_model(views, view, chapter, model, token)
    _extract(views, view, chapter, token)
    if model is not None and chapter is None:
        return JobOutcome(write=partial(_enqueue_each, _list_extracted(views, job.project_id)))
    error = model.last_error if model is not None else None
    if error is not None and error.code is not Code.JOB_BUDGET:
        raise error
    return JobOutcome()


def _summarise_by_model(
    views: ProjectViews, view: View, chapter: str, model: BackgroundModel, token: CancellationToken
) -> None:
    chapters = _load_synopses(view)
    known = chapters.by_id.get(chapter) if chapters is not None else None
    last_document = known.documents[-1].id if known is not None else chapter
    synopses.refresh_synopses(
        views.store,
        view.project.id,
        language=view.project.language,
        summariser=partial(model.summarise, document_id=last_document),
        origin="model",
        characters=collect_characters(view),
        document_ids=[chapter],
    )
    token.raise_if_cancelled()


def _extract(views: ProjectViews, view: View, chapter: str | None, token: CancellationToken) -> None:
    result = synopses.refresh_synopses(
        views.store,
        view.project.id,
        language=view.project.language,
        characters=collect_characters(view),
        document_ids=None if chapter is None else [chapter],
        progress=lambda _done, _total: token.raise_if_cancelled(),
    )
    if result.failed:
        raise FabulaError(Code.JOB_FAILED, f"{len(result.failed)} chapters could not be told in short.")


def _list_extracted(views: ProjectViews, project_id: str) -> list[str]:
    """The chapters whose synopses were extracted, which a model would improve."""
    with views.store.read(project=project_id) as reading:
        return [record.document_id for record in synopses.list_synopses(reading) if record.origin == "extract"]


def _enqueue_each(chapters: list[str], tx: WriteTransaction) -> None:
    for chapter in chapters:
        key = f"{SYNOPSIS_JOB}:{chapter}"
        if is_valid_key(key):
            enqueue(tx, SYNOPSIS_JOB, key, {"document": chapter})


def _find_chapter(view: View, document: object) -> str | None:
    """The chapter of a document; "" where the document is gone, None for all chapters where no document is given."""
    if document is None:
        return None
    chapters = _load_synopses(view)
    number = None if chapters is None else chapters.chapter_numbers.get(str(document))
    return "" if chapters is None or number is None else chapters.chapters[number].id


def _load_synopses(view: View) -> ChapterSynopses | None:
    manuscript = view.snapshot(Manuscript)
    return None if manuscript is None else ChapterSynopses.for_manuscript(manuscript)
