"""The job that makes the search index, and vectors where the project is searched by meaning; both go to the cache."""

from __future__ import annotations

from fabula.jobs.cancellation import Stop
from fabula.jobs.model import Job, Outcome
from fabula.search.corpus import Shelf
from fabula.search.embeddings.choice import Chosen
from fabula.workspace.views import Library


def index(library: Library, job: Job, stop: Stop) -> Outcome:
    """Make what searching a project needs."""
    view = library.view(job.project_id)
    shelf = view.room(Shelf)
    if shelf is None:
        return Outcome()
    made = shelf.finished(lambda _done, _total: stop.check())
    chosen = Chosen()
    try:
        meaning = chosen.way(view).meaning
        if meaning is not None:
            meaning.fill(job.project_id, made, lambda _done, _total: stop.check())
    finally:
        chosen.close()
    return Outcome()
