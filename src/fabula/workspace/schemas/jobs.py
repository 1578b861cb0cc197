"""Schemas of background jobs and what they cost."""

from __future__ import annotations

from msgspec import field

from fabula.jobs.model import JobSummary, MonthlySpending
from fabula.workspace.jobs import ProjectJobs
from fabula.workspace.schemas.schema import Schema, describe


class JobInfo(Schema):
    """One job, and the title of the chapter or conversation that it is about; times are in UTC, costs in millionths."""

    key: str
    kind: str
    title: str
    state: str
    reason: str | None = field(name="why")
    note: str | None
    queued_at: str = field(name="queued")
    due_at: str = field(name="due")
    started_at: str | None = field(name="started")
    ended_at: str | None = field(name="ended")
    seconds: float | None
    tries: int
    cost_micros: int = field(name="micros")
    runs_again: bool = field(name="again")
    is_stopping: bool = field(name="stopping")


class BreakerInfo(Schema):
    """A kind of job that failed several times in a row, and until when it waits."""

    kind: str
    failures: int
    open_until: str | None
    reason: str = field(name="why")


class SpendingInfo(Schema):
    """What background work may cost this month and what it cost so far, in millionths of a dollar."""

    month: str
    budget_micros: int
    spent_micros: int
    by_kind: dict[str, int]


class ProjectJobsInfo(Schema):
    """The background work of one project."""

    project_id: str
    title: str
    jobs: tuple[JobInfo, ...]
    breakers: tuple[BreakerInfo, ...]
    spending: SpendingInfo = field(name="money")


def describe_project_jobs(found: ProjectJobs) -> ProjectJobsInfo:
    """Describe the background work of one project."""
    return ProjectJobsInfo(
        project_id=found.project.id,
        title=found.project.title,
        jobs=tuple(_describe_job(job, found.titles.get(job.key, "")) for job in found.jobs),
        breakers=tuple(describe(BreakerInfo, one, open_until=one.open_until or None) for one in found.breakers),
        spending=describe_spending(found.spending),
    )


def _describe_job(job: JobSummary, title: str) -> JobInfo:
    optional = {name: getattr(job, name) or None for name in ("reason", "note", "started_at", "ended_at")}
    return describe(JobInfo, job, title=title, **optional)


def describe_spending(spending: MonthlySpending) -> SpendingInfo:
    """Describe the budget and the costs of a month."""
    return describe(SpendingInfo, spending, budget_micros=spending.budget, spent_micros=spending.spent)
