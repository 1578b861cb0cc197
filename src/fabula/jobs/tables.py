"""The jobs' tables: the jobs themselves, what they cost by month, and which kinds keep failing.

Jobs are not part of a save: what they would make can be made again. Nor do they move a project's version, since
no view shows them: a lease that is renewed every few seconds must not make anybody read a project again. Money
is in millionths.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Text

from fabula.core.errors import Code
from fabula.store.schema import About, number, packed, project_table, text

ROOM = "jobs"

jobs = project_table(
    "jobs",
    About(room=ROOM, owner="project", item="key", saved=False, told=False, crossed=True, missing=Code.JOB_NOT_FOUND),
    Column("key", Text, nullable=False),
    text("kind"),
    packed("work", "{}"),
    text("state", "queued"),
    text("queued"),  # when it was asked for, the first time since it was last begun
    text("due"),
    text("latest"),  # asking for it again moves `due`, but not beyond this
    text("leased_until", None),
    text("holder"),  # of the present or last lease; another one each time, so it fences late results off
    number("tries"),
    text("why"),
    text("note"),  # `why` in a sentence
    number("again"),  # asked for anew while it runs
    number("stopping"),  # cancelled while it runs
    text("started"),
    text("ended"),
    Column("spent", BigInteger, nullable=False, server_default="0"),  # by the present try, not booked yet
    Column("micros", BigInteger, nullable=False, server_default="0"),  # by all tries, booked
    Index("ix_jobs_take", "state", "kind", "due"),
    key=("key",),
)

PLAIN = tuple(column.name for column in jobs.c if column.name != "work")  # what can be read whatever the work holds

months = project_table(
    "job_months",
    About(room=ROOM, owner="project", item="kind", saved=False, told=False),
    Column("month", Text, nullable=False),
    Column("kind", Text, nullable=False),
    number("tries"),
    Column("micros", BigInteger, nullable=False, server_default="0"),
    key=("month", "kind"),
)

breakers = project_table(
    "job_breakers",
    About(room=ROOM, owner="project", item="kind", saved=False, told=False),
    Column("kind", Text, nullable=False),
    number("failures"),  # one after the other
    text("open_until"),
    text("why"),  # of the last one
    key=("kind",),
)
