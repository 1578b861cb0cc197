"""Running a job: call its handler, then store the result or record the failure.

Whatever a handler does (it raises, returns something invalid, or returns too late), its job ends in one of the known
states, and its cost is counted.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from msgspec import Struct, field

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, message
from fabula.jobs import guards, leases
from fabula.jobs.cancellation import CancellationToken
from fabula.jobs.model import JobKind, JobOutcome, Lease
from fabula.store.store import Store
from fabula.store.tables import projects
from fabula.store.transaction import WriteTransaction

log = logging.getLogger("fabula.jobs")


class JobFailure(Struct, frozen=True):
    """Why a try failed. Only the sentences of coded errors are kept: other messages could hold story text."""

    code: Code
    note: Sentence | str = ""


class JobRun(Struct, kw_only=True, eq=False, weakref=True):
    """A job that this process is running."""

    lease: Lease
    kind: JobKind
    token: CancellationToken
    thread: int
    renewed_at: float = field(default_factory=time.monotonic)
    booked_cost: int = 0  # the part of its cost that the store has counted
    has_returned: bool = False  # the handler has returned
    is_abandoned: bool = False  # it took too long, and nobody waits for its thread


def call_handler(run: JobRun) -> JobOutcome | JobFailure:
    """Call the handler of a job; an exception becomes a failure."""
    try:
        result: object = run.kind.handler(run.lease, run.token)
        return _check_outcome(result, run.token)
    except BaseException as error:
        return _make_failure(error)


def finish_run(store: Store, run: JobRun, result: JobOutcome | JobFailure) -> bool:
    """Store a result and mark the job as done, in one transaction; return whether its circuit breaker closed."""
    if isinstance(result, JobOutcome):
        try:
            with store.write(project=run.lease.project_id, user=result.user) as tx:
                closed = leases.finish_job(tx, run.lease, cost=run.token.cost_micros)
                if result.write is not None:
                    result.write(tx)
            return closed
        except BaseException as error:
            result = _make_failure(error)
    if run.token.reason is Code.JOB_STOPPED and result.code is not Code.JOB_CANCELLED:
        return_job(store, run)
    else:
        record_failure(store, run, result)
    return False


def record_failure(store: Store, run: JobRun, failure: JobFailure) -> None:
    """Record that a try failed."""

    def fail(tx: WriteTransaction, cost: int) -> None:
        state = leases.fail_job(tx, run.lease, run.kind, failure.code, failure.note, cost=cost)
        log.info("job %s of %s: %s, %s", run.lease.key, run.lease.project_id, failure.code.value, state.value)

    _end_lease(store, run, fail)


def return_job(store: Store, run: JobRun) -> None:
    """Return a job to the queue because this program is ending."""
    _end_lease(
        store,
        run,
        lambda tx, cost: leases.return_job(tx, run.lease, run.kind, holder_died=False, cost=cost),
    )


def _end_lease(store: Store, run: JobRun, end: Callable[[WriteTransaction, int], object]) -> None:
    """End a lease. Where the store refuses, another worker has the job, or takes it when the lease expires."""
    cost = run.token.cost_micros
    try:
        with store.write(project=run.lease.project_id) as tx:
            end(tx, cost)
        run.booked_cost = cost
    except FabulaError as error:
        log.warning("job %s of %s: %s", run.lease.key, run.lease.project_id, error.code.value)
        if error.code is Code.JOB_LEASE_LOST:
            book_late_cost(store, run)


def book_late_cost(store: Store, run: JobRun) -> None:
    """Count the cost of a job that arose after it was abandoned here, or taken by another worker."""
    cost = run.token.cost_micros
    if cost <= run.booked_cost:
        return
    try:
        with store.write(project=run.lease.project_id) as tx:
            tx.require(projects)
            guards.book_cost(tx, run.lease.kind, cost - run.booked_cost, tx.current_time(), tries=0)
        run.booked_cost = cost
    except FabulaError as error:
        log.warning("the cost of job %s was not counted: %s", run.lease.key, error.code.value)


def _check_outcome(result: object, token: CancellationToken) -> JobOutcome:
    if not isinstance(result, JobOutcome):
        raise FabulaError(
            Code.JOB_ANSWER_INVALID,
            message("The handler of the job returned {type}, not an outcome.", type=type(result).__name__),
        )
    valid_user = result.user is None or isinstance(result.user, str)
    if not valid_user or not (result.write is None or callable(result.write)):
        raise FabulaError(Code.JOB_ANSWER_INVALID, message("The handler of the job returned an invalid outcome."))
    token.add_cost(result.cost_micros)
    return result


def _make_failure(error: BaseException) -> JobFailure:
    if isinstance(error, FabulaError):
        return JobFailure(error.code, error.message)
    return JobFailure(Code.JOB_FAILED, type(error).__name__)
