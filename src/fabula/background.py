"""The background work of the house: which kinds of jobs there are, and who does them.

Nothing here is needed for an answer: a prompt tells chapters without a fresh synopsis in their own sentences, and
search makes its index when it is asked. Doing both beforehand only makes them better and quicker.
"""

from __future__ import annotations

from fabula.codex.model import Codex
from fabula.core.errors import Code, FabulaError
from fabula.core.view import View
from fabula.jobs.after_saving import INDEX, SYNOPSIS
from fabula.jobs.model import Job, Kind, Outcome
from fabula.jobs.stop import Stop
from fabula.library import Library
from fabula.manuscript import synopses
from fabula.manuscript.model import Manuscript
from fabula.manuscript.tellings import Tellings
from fabula.search.shelf import Shelf
from fabula.text.cast import NOBODY, Cast


def kinds_of(library: Library) -> dict[str, Kind]:
    """Every kind of jobs that is done in the background."""

    def synopsis(job: Job, stop: Stop) -> Outcome:
        """Tell the chapter of a document in short, or all that need it. Each is kept at once, by its text's hash."""
        view = library.view(job.project_id)
        only = _chapters(view, job.work.get("document"))
        if only == []:
            return Outcome()
        done = synopses.refresh(
            library.store,
            job.project_id,
            language=view.project.language,
            cast=_cast(view),
            only=only,
            progress=lambda _done, _total: stop.check(),
        )
        if done.failed:
            raise FabulaError(Code.JOB_FAILED, f"{len(done.failed)} chapters could not be told in short.")
        return Outcome()

    def index(job: Job, stop: Stop) -> Outcome:
        """Make the search index, which leaves it in the cache."""
        shelf = library.view(job.project_id).room(Shelf)
        if shelf is not None:
            shelf.finished(lambda _done, _total: stop.check())
        return Outcome()

    return {SYNOPSIS: Kind(handler=synopsis, seconds=600.0), INDEX: Kind(handler=index, seconds=600.0)}


def _chapters(view: View, document: object) -> list[str] | None:
    """The chapter that a document belongs to; none when it is gone; None for all, where no document is meant."""
    if document is None:
        return None
    story = view.room(Manuscript)
    tellings = None if story is None else Tellings.of(story)
    place = None if tellings is None else tellings.places.get(str(document))
    return [] if tellings is None or place is None else [tellings.chapters[place].id]


def _cast(view: View) -> Cast:
    """The characters of the codex: a synopsis should name those whom its chapter is about."""
    codex = view.room(Codex)
    people = {entry.name: entry.names for entry in codex.entries if entry.type == "character"} if codex else {}
    return Cast(people) if people else NOBODY
