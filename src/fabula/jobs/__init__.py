"""Jobs: background work in a queue in the store, with leases, retries and a monthly budget."""

from fabula.jobs.cancellation import CancellationToken
from fabula.jobs.guards import list_breakers, read_monthly_budget, read_spending, set_monthly_budget
from fabula.jobs.model import (
    CircuitBreaker,
    Job,
    JobHandler,
    JobKind,
    JobOutcome,
    JobState,
    JobSummary,
    MonthlySpending,
)
from fabula.jobs.queue import cancel_job, count_jobs, enqueue, get_job, is_valid_key, list_jobs, retry_job
from fabula.jobs.worker import Worker

__all__ = [
    "CancellationToken",
    "CircuitBreaker",
    "Job",
    "JobHandler",
    "JobKind",
    "JobOutcome",
    "JobState",
    "JobSummary",
    "MonthlySpending",
    "Worker",
    "cancel_job",
    "count_jobs",
    "enqueue",
    "get_job",
    "is_valid_key",
    "list_breakers",
    "list_jobs",
    "read_monthly_budget",
    "read_spending",
    "retry_job",
    "set_monthly_budget",
]
