"""The nouns of background work: a job, the rules of its kind, the lease under which it runs, and its outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from fabula.core.errors import Code
from fabula.jobs.cancellation import Stop
from fabula.store.transaction import Writing


class State(StrEnum):
    """How a job stands."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


SETTLED = (State.DONE, State.FAILED, State.CANCELLED)
FINAL = frozenset(  # failures after which trying again soon is of no use
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
    """One piece of work, as its handler sees it."""

    project_id: str
    key: str
    kind: str
    work: Mapping[str, Any]
    tries: int  # this one included


class Outcome(Struct, frozen=True, kw_only=True):
    """What a handler made: how to keep it, in the transaction that marks the job as done, and what that cost."""

    write: Callable[[Writing], object] | None = None
    micros: int = 0  # beside what was reported to the token
    user: str | None = None  # whose rows are written too, beside the project's


Handler = Callable[[Job, Stop], Outcome]


class Kind(Struct, frozen=True, kw_only=True):
    """A kind of jobs: who does them, and within which bounds."""

    handler: Handler
    paid: bool = False  # waits when the month's money is used up
    seconds: float = 120.0  # that one try may take
    tries: int = 5
    first_delay: float = 10.0  # seconds until the second try; each further one waits twice as long
    longest_delay: float = 600.0
    breaker_after: int = 5  # failures one after the other
    breaker_pause: float = 300.0  # seconds until one is tried again
    final: frozenset[Code] = FINAL


class Lease(Struct, frozen=True, kw_only=True):
    """The right to run a job for a while. The holder's name is another one each time: it fences late results off."""

    job: Job
    holder: str
    seconds: float

    @property
    def project_id(self) -> str:
        """Whose job it is."""
        return self.job.project_id

    @property
    def key(self) -> str:
        """Which job."""
        return self.job.key

    @property
    def kind(self) -> str:
        """Of which kind."""
        return self.job.kind


class Card(Struct, frozen=True, kw_only=True):
    """A job as people see it."""

    key: str
    kind: str
    state: State
    why: str
    note: str
    queued: str
    due: str
    started: str
    ended: str
    seconds: float | None  # how long the latest try took, or has taken so far
    tries: int
    micros: int
    again: bool  # runs once more when this run is over
    stopping: bool


class Breaker(Struct, frozen=True, kw_only=True):
    """A kind of jobs that failed lately: how often in a row, and until when it waits."""

    kind: str
    failures: int
    open_until: str  # empty while it is closed
    why: str


class Money(Struct, frozen=True, kw_only=True):
    """What background work may cost a project this month, and what it has cost."""

    month: str
    budget: int
    spent: int
    by_kind: Mapping[str, int]

    @property
    def left(self) -> int:
        """What may still be spent."""
        return max(self.budget - self.spent, 0)
