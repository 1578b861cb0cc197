"""The job that tells chapters in short: by the model where one works for the project, in their own sentences else.

A job for one chapter asks the model, if there is one. A job for all of them takes sentences, which is quick, and
queues a job a chapter for the model, so that each is bounded by itself and can be seen, cancelled and paid for.
When the model fails there are sentences at least, and the job says what went wrong and is tried again.
"""

from __future__ import annotations

from functools import partial

from fabula.core.errors import Code, FabulaError
from fabula.core.view import View
from fabula.jobs import queue as service
from fabula.jobs.cancellation import Stop
from fabula.jobs.model import Job, Outcome
from fabula.jobs.triggers.documents import SYNOPSIS
from fabula.manuscript.model import Manuscript
from fabula.manuscript.synopses import editing as synopses
from fabula.manuscript.synopses.plan import Tellings
from fabula.store.transaction import Writing
from fabula.workspace.characters import cast_of
from fabula.workspace.handlers.background_model import Assistant, assistant_for
from fabula.workspace.views import Library


def tell(library: Library, job: Job, stop: Stop) -> Outcome:
    """Tell the chapter of a document in short, or all that need it. Each is kept at once, by its text's hash."""
    view = library.view(job.project_id)
    chapter = _chapter(view, job.work.get("document"))
    if chapter == "":
        return Outcome()
    assistant = assistant_for(library, job.project_id, stop)
    if assistant is not None and chapter is not None:
        _by_model(library, view, chapter, assistant, stop)
    _in_its_own_sentences(library, view, chapter, stop)
    if assistant is None or chapter is not None:
        trouble = assistant.trouble if assistant is not None else None
        if trouble is not None and trouble.code is not Code.JOB_BUDGET:
            raise trouble
        return Outcome()
    return Outcome(write=partial(_queue_each, _for_the_model(library, job.project_id)))


def _by_model(library: Library, view: View, chapter: str, assistant: Assistant, stop: Stop) -> None:
    places = _tellings(view)
    last = places.by_id[chapter].documents[-1].id if places is not None and chapter in places.by_id else chapter
    synopses.refresh(
        library.store,
        view.project.id,
        language=view.project.language,
        summariser=partial(assistant.told_in_short, document_id=last),
        origin="model",
        cast=cast_of(view),
        only=[chapter],
    )
    stop.check()


def _in_its_own_sentences(library: Library, view: View, chapter: str | None, stop: Stop) -> None:
    done = synopses.refresh(
        library.store,
        view.project.id,
        language=view.project.language,
        cast=cast_of(view),
        only=None if chapter is None else [chapter],
        progress=lambda _done, _total: stop.check(),
    )
    if done.failed:
        raise FabulaError(Code.JOB_FAILED, f"{len(done.failed)} chapters could not be told in short.")


def _for_the_model(library: Library, project_id: str) -> list[str]:
    """The chapters whose synopses a model would better."""
    with library.store.read(project=project_id) as reading:
        return [kept.document_id for kept in synopses.listed(reading) if kept.origin == "extract"]


def _queue_each(chapters: list[str], tx: Writing) -> None:
    for chapter in chapters:
        key = f"{SYNOPSIS}:{chapter}"
        if service.sound_key(key):
            service.queue(tx, SYNOPSIS, key, {"document": chapter})


def _chapter(view: View, document: object) -> str | None:
    """The chapter that a document belongs to; none ("") when it is gone; None for all, where no document is meant."""
    if document is None:
        return None
    tellings = _tellings(view)
    place = None if tellings is None else tellings.places.get(str(document))
    return "" if tellings is None or place is None else tellings.chapters[place].id


def _tellings(view: View) -> Tellings | None:
    story = view.room(Manuscript)
    return None if story is None else Tellings.of(story)
