"""Triggers: which jobs a change in the store enqueues, in the same transaction."""

from fabula.jobs.triggers.connect import connect_triggers
from fabula.jobs.triggers.documents import INDEX_JOB, SYNOPSIS_JOB
from fabula.jobs.triggers.facts import FACTS_JOB, queue_facts
from fabula.jobs.triggers.messages import RECAP_JOB, queue_rebuild
from fabula.jobs.triggers.needs import NEEDS_JOB, queue_needs, read_needs_vantage
from fabula.jobs.triggers.outcomes import PROPOSALS_JOB
from fabula.jobs.triggers.recap_settings import RECAP_SETTINGS, read_recap_rules

__all__ = [
    "FACTS_JOB",
    "INDEX_JOB",
    "NEEDS_JOB",
    "PROPOSALS_JOB",
    "RECAP_JOB",
    "RECAP_SETTINGS",
    "SYNOPSIS_JOB",
    "connect_triggers",
    "queue_facts",
    "queue_needs",
    "queue_rebuild",
    "read_needs_vantage",
    "read_recap_rules",
]
