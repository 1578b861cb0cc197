"""Every kind of jobs that is done in the background, and who does it."""

from __future__ import annotations

from functools import partial

from fabula.background.habits import propose
from fabula.background.indexing import index
from fabula.background.recapping import recap
from fabula.background.telling import tell
from fabula.jobs.after_outcomes import PROPOSALS
from fabula.jobs.after_saving import INDEX, SYNOPSIS
from fabula.jobs.after_saying import RECAP
from fabula.jobs.model import Kind
from fabula.library import Library


def kinds_of(library: Library) -> dict[str, Kind]:
    """The kinds, and who does them."""
    return {
        SYNOPSIS: Kind(handler=partial(tell, library), seconds=600.0),
        INDEX: Kind(handler=partial(index, library), seconds=1800.0),
        PROPOSALS: Kind(handler=partial(propose, library), seconds=300.0),
        RECAP: Kind(handler=partial(recap, library), paid=True, seconds=120.0, tries=1),
    }
