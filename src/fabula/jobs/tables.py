"""Tables of the jobs, of their monthly costs, and of the circuit breakers.

Jobs are not part of a save: their results can be made again. Job rows neither change the project's version nor appear
in the change feed, because no view shows them: a lease that is renewed every few seconds must not make a view reload.
Costs are in millionths.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Text

from fabula.core.errors import Code
from fabula.store.schema import TableInfo, integer_column, json_column, project_table, text_column

AREA = "jobs"

jobs = project_table(
    "jobs",
    TableInfo(
        area=AREA,
        owner="project",
        item="key",
        in_saves=False,
        tracked=False,
        across_projects=True,
        missing_code=Code.JOB_NOT_FOUND,
    ),
    Column("key", Text, nullable=False),
    text_column("kind"),
    json_column("work", "{}"),
    text_column("state", "queued"),
    text_column("queued"),  # when it was first enqueued since it last started
    text_column("due"),
    text_column("latest"),  # enqueuing it again moves `due`, but not beyond this
    text_column("leased_until", None),
    text_column("holder"),  # of the current or last lease; new for each lease, so that late results are refused
    integer_column("tries"),
    text_column("why"),
    text_column("note"),  # the reason in a sentence
    integer_column("again"),  # enqueued again while it runs
    integer_column("stopping"),  # cancelled while it runs
    text_column("started"),
    text_column("ended"),
    Column("spent", BigInteger, nullable=False, server_default="0"),  # by the current try, not in the monthly costs yet
    Column("micros", BigInteger, nullable=False, server_default="0"),  # by all tries, in the monthly costs
    Index("ix_jobs_take", "state", "kind", "due"),
    key=("key",),
)

COLUMNS_WITHOUT_WORK = tuple(
    column.name for column in jobs.c if column.name != "work"
)  # readable even where the work is damaged

months = project_table(
    "job_months",
    TableInfo(area=AREA, owner="project", item="kind", in_saves=False, tracked=False),
    Column("month", Text, nullable=False),
    Column("kind", Text, nullable=False),
    integer_column("tries"),
    Column("micros", BigInteger, nullable=False, server_default="0"),
    key=("month", "kind"),
)

breakers = project_table(
    "job_breakers",
    TableInfo(area=AREA, owner="project", item="kind", in_saves=False, tracked=False),
    Column("kind", Text, nullable=False),
    integer_column("failures"),  # in a row
    text_column("open_until"),
    text_column("why"),  # of the last failure
    key=("kind",),
)
