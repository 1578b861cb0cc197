"""The job that makes the search index, which leaves it in the cache."""

from __future__ import annotations

from fabula.jobs.model import Job, Outcome
from fabula.jobs.stop import Stop
from fabula.library import Library
from fabula.search.shelf import Shelf


def index(library: Library, job: Job, stop: Stop) -> Outcome:
    """Make the index of a project."""
    shelf = library.view(job.project_id).room(Shelf)
    if shelf is not None:
        shelf.finished(lambda _done, _total: stop.check())
    return Outcome()
