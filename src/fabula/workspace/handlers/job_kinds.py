"""All kinds of jobs, with their handlers and limits."""

from __future__ import annotations

from functools import partial

from fabula.jobs.model import JobKind
from fabula.jobs.triggers.documents import INDEX_JOB, SYNOPSIS_JOB
from fabula.jobs.triggers.facts import FACTS_JOB
from fabula.jobs.triggers.messages import RECAP_JOB
from fabula.jobs.triggers.needs import NEEDS_JOB
from fabula.jobs.triggers.outcomes import PROPOSALS_JOB
from fabula.workspace.handlers.facts import collect_quotations
from fabula.workspace.handlers.indexing import build_search_index
from fabula.workspace.handlers.learning import propose_preferences
from fabula.workspace.handlers.needs import ask_for_needs
from fabula.workspace.handlers.recaps import update_recaps
from fabula.workspace.handlers.synopses import summarise_chapters
from fabula.workspace.views import ProjectViews


def job_kinds(views: ProjectViews) -> dict[str, JobKind]:
    """The kinds of jobs by name, for a worker."""
    return {
        SYNOPSIS_JOB: JobKind(handler=partial(summarise_chapters, views), timeout=600.0),
        INDEX_JOB: JobKind(handler=partial(build_search_index, views), timeout=1800.0),
        PROPOSALS_JOB: JobKind(handler=partial(propose_preferences, views), timeout=300.0),
        RECAP_JOB: JobKind(handler=partial(update_recaps, views), costs_money=True, timeout=120.0, max_tries=1),
        FACTS_JOB: JobKind(handler=partial(collect_quotations, views), costs_money=True, timeout=600.0, max_tries=2),
        NEEDS_JOB: JobKind(handler=partial(ask_for_needs, views), costs_money=True, timeout=60.0, max_tries=1),
    }
