"""The jobs' table: queued in the same transaction as what they follow from, taken under a lease.

Jobs are not part of a save: what they would make can be made again.
"""

from __future__ import annotations

from sqlalchemy import Column, Index, Text

from fabula.store.schema import About, number, packed, project_table, text

jobs = project_table(
    "jobs",
    About(room="jobs", owner="project", item="key", saved=False),
    Column("key", Text, nullable=False),
    text("kind"),
    packed("work", "{}"),
    text("state", "queued"),
    text("queued"),
    text("due"),
    text("leased_until", None),
    text("holder"),
    number("tries"),
    text("why"),
    Index("ix_jobs_due", "state", "due"),
    key=("key",),
)
