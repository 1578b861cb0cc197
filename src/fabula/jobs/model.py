"""Types of background work: a job, its kind with the limits, the lease under which it runs, and its outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from fabula.core.errors import Code
from fabula.jobs.cancellation import CancellationToken
from fabula.store.transaction import WriteTransaction


class JobState(StrEnum):
    """The state of a job."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


FINISHED_STATES = (JobState.DONE, JobState.FAILED, JobState.CANCELLED)
PERMANENT_FAILURES = frozenset(  # codes after which another try would fail too
    {
        Code.JOB_ANSWER_INVALID,
        Code.JOB_INVALID,
        Code.LLM_ADDRESS_REFUSED,
        Code.LLM_ATTACHMENT_INVALID,
        Code.LLM_FILTERED,
        Code.LLM_NO_KEY,
        Code.LLM_NOT_INSTALLED,
        Code.LLM_REFUSED,
        Code.LLM_TOO_LONG,
        Code.MODEL_UNKNOWN,
        Code.PROJECT_NOT_FOUND,
        Code.SETTING_INVALID,
        Code.STORE_NOT_FOUND,
        Code.TEXT_INVALID,
    }
)


class Job(Struct, frozen=True, kw_only=True):
    """One job, as its handler gets it."""

    project_id: str
    key: str
    kind: str
    work: Mapping[str, Any]
    tries: int  # this one included


class JobOutcome(Struct, frozen=True, kw_only=True):
    """The result of a handler: how to store it, in the transaction that marks the job as done, and its cost."""

    write: Callable[[WriteTransaction], object] | None = None
    cost_micros: int = 0  # in addition to what was reported to the token
    user: str | None = None  # whose rows are written too, in addition to the project's


JobHandler = Callable[[Job, CancellationToken], JobOutcome]


class JobKind(Struct, frozen=True, kw_only=True):
    """A kind of job: its handler, and its limits."""

    handler: JobHandler
    costs_money: bool = False  # waits when the monthly budget is used up
    timeout: float = 120.0  # seconds for one try
    max_tries: int = 5
    first_delay: float = 10.0  # seconds before the second try; doubled for each further one
    max_delay: float = 600.0
    breaker_threshold: int = 5  # failures in a row
    breaker_pause: float = 300.0  # seconds until one job may try
    permanent_failures: frozenset[Code] = PERMANENT_FAILURES


class Lease(Job, frozen=True, kw_only=True):
    """The right to run a job for a while. The holder's name is new for each lease, so that late results are refused."""

    holder: str
    duration: float


class JobSummary(Struct, frozen=True, kw_only=True):
    """A job, as lists show it."""

    key: str
    kind: str
    state: JobState
    reason: str
    note: str
    queued_at: str
    due_at: str
    started_at: str
    ended_at: str
    seconds: float | None  # the duration of the latest try, so far
    tries: int
    cost_micros: int
    runs_again: bool  # was queued again while it runs
    is_stopping: bool


class CircuitBreaker(Struct, frozen=True, kw_only=True):
    """The circuit breaker of a kind of job: how often it failed in a row, and until when it waits."""

    kind: str
    failures: int
    open_until: str  # empty while the breaker is closed
    reason: str


class MonthlySpending(Struct, frozen=True, kw_only=True):
    """The budget and the costs of a project's background work in one month, in millionths."""

    month: str
    budget: int
    spent: int
    by_kind: Mapping[str, int]

    @property
    def remaining(self) -> int:
        """The rest of the budget."""
        return max(self.budget - self.spent, 0)
