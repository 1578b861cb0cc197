"""Leases: take a job, renew the lease while it runs, and end it in the transaction that stores its result.

Taking a job does not take the lock of its project: on SQLite it holds the write lock for a moment, on PostgreSQL it
locks one row that nobody else has locked (`FOR UPDATE SKIP LOCKED`). Every other change of a running job holds the
project's lock, except for renewing the lease. Whoever ends a job shows the holder's name under which it was taken.
After the lease has expired and another worker has taken the job, that name no longer matches, and the transaction
fails with everything in it. So a job can be started more than once, but its result is stored once. The name is also
checked before a model is asked: a holder that has lost its job pays for nothing.

On PostgreSQL, times are those of the server.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import ColumnElement, Row

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, message, show
from fabula.jobs import guards
from fabula.jobs.lease_watch import make_holder
from fabula.jobs.model import JobKind, JobState, Lease
from fabula.jobs.tables import COLUMNS_WITHOUT_WORK, jobs
from fabula.jobs.timestamps import add_seconds
from fabula.store.rows import read_struct
from fabula.store.store import Store
from fabula.store.tables import projects
from fabula.store.transaction import WriteTransaction

_HOLD_BATCH = 500
_MAX_NOTE = 300
_ORDER = (jobs.c.due,)
_UNREADABLE = message("The data of this job cannot be read.")
_HOLDER_DIED = message("The program that ran the job is gone.")


def take_job(store: Store, kinds: Mapping[str, JobKind], *, seconds: float) -> Lease | None:
    """Take the job that has been due longest, of a kind that is known here and may run; None where there is none."""
    with store.all_projects(jobs) as all_jobs:  # a read first: without a job that is due, no write lock is taken
        now = all_jobs.current_time()
        names = [name for name in kinds if all_jobs.rows(*_due(name, now), order=_ORDER, limit=1, only=("key",))]
    random.shuffle(names)  # so that no kind blocks the others
    budget = guards.read_monthly_budget(store) if any(kinds[name].costs_money for name in names) else 0
    for name in names:
        while (taken := _take_of_kind(store, name, kinds[name], seconds, budget)) is not None:
            if isinstance(taken, Lease):
                return taken
    return None


def _take_of_kind(store: Store, name: str, kind: JobKind, seconds: float, budget: int) -> Lease | Code | None:
    """Take a job of one kind; or hold back the due jobs of that kind and project, and return the reason."""
    with store.all_projects(jobs, writable=True) as all_jobs:
        now = all_jobs.current_time()
        due = all_jobs.rows(*_due(name, now), order=_ORDER, limit=1, only=COLUMNS_WITHOUT_WORK, lock=True)
        if not due:
            return None
        row = due[0]
        tx = all_jobs.for_owner(row.project_id)
        hold = guards.find_hold(tx, name, kind, now, seconds, budget)
        if hold is not None:
            project = jobs.c.project_id == row.project_id
            rows = all_jobs.rows(*_due(name, now), project, limit=_HOLD_BATCH, only=("key",), lock=True)
            keys = [other.key for other in rows]
            tx.update_rows(jobs, {"due": hold.until, "why": hold.reason.value, "note": ""}, jobs.c.key.in_(keys))
            return hold.reason
        work = _read_work(tx, row.key)
        if work is None:
            note = _render_note(tx, _UNREADABLE)
            failed = {"state": JobState.FAILED.value, "why": Code.JOB_INVALID.value, "note": note, "ended": now}
            tx.update_rows(jobs, failed, jobs.c.key == row.key)
            return Code.JOB_INVALID
        holder = make_holder()
        values = {
            "state": JobState.RUNNING.value,
            "holder": holder,
            "leased_until": add_seconds(now, seconds),
            "tries": jobs.c.tries + 1,
            "started": now,
            "ended": "",
            "why": "",
            "note": "",
            "spent": 0,
        }
        tx.update_rows(jobs, values, jobs.c.key == row.key)
        return read_struct(Lease, row, work=work, tries=row.tries + 1, holder=holder, duration=seconds)


def _due(name: str, now: str) -> tuple[ColumnElement[bool], ...]:
    """The clauses for jobs of a kind that are due; in the order of the index columns."""
    return jobs.c.state == JobState.QUEUED.value, jobs.c.kind == name, jobs.c.due <= now


def renew_lease(store: Store, lease: Lease, *, cost: int = 0) -> bool:
    """Renew a lease, and record the cost so far; return False where another worker has the job."""
    with store.all_projects(jobs, writable=True) as all_jobs:
        until = add_seconds(all_jobs.current_time(), lease.duration)
        values = {"leased_until": until, "spent": cost}
        return bool(all_jobs.for_owner(lease.project_id).update_rows(jobs, values, *_held_by(lease)))


def find_cancelled(store: Store, leases: Iterable[Lease]) -> list[str]:
    """The holders whose jobs were cancelled."""
    holders = [lease.holder for lease in leases]
    running = (jobs.c.state == JobState.RUNNING.value, jobs.c.holder.in_(holders), jobs.c.stopping != 0)
    with store.all_projects(jobs) as all_jobs:
        return [row.holder for row in all_jobs.rows(*running, only=("holder",))]


def finish_job(tx: WriteTransaction, lease: Lease, *, cost: int = 0) -> bool:
    """Mark a job as done in this transaction; return whether its circuit breaker closed.

    Refused where another worker has the job, or it was cancelled; then the whole transaction is rolled back.
    """
    row = _require_held(tx, lease)
    if row.stopping:
        raise FabulaError(
            Code.JOB_CANCELLED, message("The job {key!r} was cancelled. Its result was not stored.", key=lease.key)
        )
    _end_lease(tx, lease, row, JobState.DONE, tx.current_time(), cost)
    return guards.record_success(tx, lease.kind)


def fail_job(
    tx: WriteTransaction, lease: Lease, kind: JobKind, reason: Code, note: Sentence | str = "", *, cost: int = 0
) -> JobState:
    """Record a failed try: the job waits for the next try, or has failed for good. Return its state."""
    row = _require_held(tx, lease)
    now = tx.current_time()
    if row.stopping:
        return _end_lease(tx, lease, row, JobState.CANCELLED, now, cost, reason=Code.JOB_CANCELLED)
    guards.record_failure(tx, lease.kind, kind, reason.value, now)
    return _use_try(tx, lease, row, kind, now, cost, reason, note)


def return_job(tx: WriteTransaction, lease: Lease, kind: JobKind, *, holder_died: bool, cost: int = 0) -> JobState:
    """Return a job to the queue because its holder ends or has died. Only a holder that died has used up a try.

    That says nothing about the kind of the job, so the circuit breaker does not count it.
    """
    row = _require_held(tx, lease)
    now = tx.current_time()
    if row.stopping:
        return _end_lease(tx, lease, row, JobState.CANCELLED, now, cost, reason=Code.JOB_CANCELLED)
    if holder_died:
        return _use_try(tx, lease, row, kind, now, cost, Code.JOB_ABANDONED, _HOLDER_DIED)
    values = {"due": now, "tries": max(row.tries - 1, 0)}
    return _end_lease(tx, lease, row, JobState.QUEUED, now, cost, reason=Code.JOB_STOPPED, **values)


def _use_try(
    tx: WriteTransaction,
    lease: Lease,
    row: Row[Any],
    kind: JobKind,
    now: str,
    cost: int,
    reason: Code,
    note: Sentence | str,
) -> JobState:
    """Use up one try."""
    if reason in kind.permanent_failures or row.tries >= kind.max_tries:
        return _end_lease(tx, lease, row, JobState.FAILED, now, cost, reason=reason, note=note)
    delay = 0.0 if reason is Code.JOB_ABANDONED else _retry_delay(kind, row.tries)
    return _end_lease(tx, lease, row, JobState.QUEUED, now, cost, reason=reason, note=note, due=add_seconds(now, delay))


def _end_lease(
    tx: WriteTransaction,
    lease: Lease,
    row: Row[Any],
    state: JobState,
    now: str,
    cost: int,
    *,
    reason: Code | None = None,
    note: Sentence | str = "",
    **more: object,
) -> JobState:
    """End a lease. A job that was queued again meanwhile starts anew, however this run ended."""
    cost = max(cost, row.spent)
    if row.again:
        state, more = JobState.QUEUED, {"tries": 0, "due": row.due}
    values: dict[str, object] = {
        "state": state.value,
        "again": 0,
        "stopping": 0,
        "leased_until": None,
        "why": "" if reason is None else reason.value,
        "note": _render_note(tx, note),
        "ended": now,
        "spent": 0,
        "micros": jobs.c.micros + cost,
        **more,
    }
    guards.book_cost(tx, lease.kind, cost, now)
    if not tx.update_rows(jobs, values, *_held_by(lease)):
        raise _lease_lost(lease)
    return state


def _require_held(tx: WriteTransaction, lease: Lease) -> Row[Any]:
    """The row of the job, if this holder still has it."""
    rows = tx.rows(jobs, *_held_by(lease), only=COLUMNS_WITHOUT_WORK)
    if not rows:
        raise _lease_lost(lease)
    return rows[0]


def _held_by(lease: Lease) -> tuple[Any, ...]:
    return (
        jobs.c.key == lease.key,
        jobs.c.state == JobState.RUNNING.value,
        jobs.c.holder == lease.holder,
        jobs.c.tries == lease.tries,
    )


def _lease_lost(lease: Lease) -> FabulaError:
    return FabulaError(
        Code.JOB_LEASE_LOST,
        message("Another worker has the job {key!r} now. This result was not stored.", key=lease.key),
    )


def _render_note(tx: WriteTransaction, note: Sentence | str) -> str:
    """A note in the language of the project."""
    return str(show(note, tx.require(projects).language))[:_MAX_NOTE]


def _retry_delay(kind: JobKind, tries: int) -> float:
    """The delay before the next try: doubled each time, with some jitter."""
    return min(kind.first_delay * 2.0 ** (tries - 1), kind.max_delay) * random.uniform(0.8, 1.2)


def _read_work(tx: WriteTransaction, key: str) -> Mapping[str, Any] | None:
    """The data of a job; None where it cannot be read, which must not block the other jobs."""
    try:
        work = tx.rows(jobs, jobs.c.key == key, only=("work",))[0].work
    except ValueError:
        return None
    return work if isinstance(work, Mapping) else None
