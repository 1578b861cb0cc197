"""Every kind of jobs that is done in the background, and who does it."""

from __future__ import annotations

from functools import partial

from fabula.jobs.model import Kind
from fabula.jobs.triggers.documents import INDEX, SYNOPSIS
from fabula.jobs.triggers.messages import RECAP
from fabula.jobs.triggers.outcomes import PROPOSALS
from fabula.workspace.handlers.indexing import index
from fabula.workspace.handlers.learning import propose
from fabula.workspace.handlers.recaps import recap
from fabula.workspace.handlers.synopses import tell
from fabula.workspace.views import Library


def kinds_of(library: Library) -> dict[str, Kind]:
    """The kinds, and who does them."""
    return {
        SYNOPSIS: Kind(handler=partial(tell, library), seconds=600.0),
        INDEX: Kind(handler=partial(index, library), seconds=1800.0),
        PROPOSALS: Kind(handler=partial(propose, library), seconds=300.0),
        RECAP: Kind(handler=partial(recap, library), paid=True, seconds=120.0, tries=1),
    }
