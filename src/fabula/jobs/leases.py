"""Leases: take a job, keep it while it runs, and end it in the transaction that keeps its result.

Taking goes past the turns of the projects: on SQLite it holds the one write lock for a moment, on PostgreSQL it
locks one row that nobody else is at (`FOR UPDATE SKIP LOCKED`). All else that changes a running job does so in the
project's turn, but for renewing the lease. Whoever ends a job shows the name under which it was taken; after the
lease has run out and the job was given to another, that name is no longer there, the transaction fails, and with
it whatever was to be written along. So a job may be begun more than once, and takes effect once.

Times are those of the server on PostgreSQL, whatever the clocks of the machines say.
"""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import ColumnElement, Row

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import new_id
from fabula.jobs import guards
from fabula.jobs.model import Job, Kind, Lease, State
from fabula.jobs.tables import PLAIN, jobs
from fabula.jobs.timestamps import later
from fabula.store.store import Store
from fabula.store.transaction import Writing

_HOLD = 500  # jobs that are held back in one transaction
_LONGEST_NOTE = 300
_ORDER = (jobs.c.due,)
_UNREADABLE = "Its work cannot be read."


def take(store: Store, kinds: Mapping[str, Kind], *, seconds: float) -> Lease | None:
    """The job that has been due longest, of a kind that is known here and may run; None when there is none."""
    with store.across(jobs) as everybody:  # a look first: who finds nothing has not asked for the right to write
        now = everybody.clock()
        names = [name for name in kinds if everybody.rows(*_due(name, now), order=_ORDER, limit=1, only=("key",))]
    random.shuffle(names)  # no kind stands in the way of the others
    for name in names:
        while (found := _take(store, name, kinds[name], seconds)) is not None:
            if isinstance(found, Lease):
                return found
    return None


def _take(store: Store, name: str, kind: Kind, seconds: float) -> Lease | Code | None:
    """A job of one kind; or why it could not be taken, which it and others like it have been told."""
    with store.across(jobs, change=True) as everybody:
        now = everybody.clock()
        found = everybody.rows(*_due(name, now), order=_ORDER, limit=1, only=PLAIN, lock=True)
        if not found:
            return None
        row = found[0]
        tx = everybody.of(row.project_id)
        held = guards.held_back(tx, name, kind, now, seconds)
        if held is not None:
            project = jobs.c.project_id == row.project_id
            rows = everybody.rows(*_due(name, now), project, limit=_HOLD, only=("key",), lock=True)
            keys = [other.key for other in rows]
            tx.change(jobs, {"due": held.until, "why": held.why.value, "note": ""}, jobs.c.key.in_(keys))
            return held.why
        work = _work(tx, row.key)
        if work is None:
            tx.change(
                jobs,
                {"state": State.FAILED.value, "why": Code.JOB_INVALID.value, "note": _UNREADABLE, "ended": now},
                jobs.c.key == row.key,
            )
            return Code.JOB_INVALID
        holder = f"{socket.gethostname()[:40]}:{os.getpid()}:{new_id()}"
        values = {
            "state": State.RUNNING.value,
            "holder": holder,
            "leased_until": later(now, seconds),
            "tries": jobs.c.tries + 1,
            "started": now,
            "ended": "",
            "why": "",
            "note": "",
            "spent": 0,
        }
        tx.change(jobs, values, jobs.c.key == row.key)
        job = Job(project_id=row.project_id, key=row.key, kind=name, work=work, tries=row.tries + 1)
        return Lease(job=job, holder=holder, seconds=seconds)


def _due(name: str, now: str) -> tuple[ColumnElement[bool], ...]:
    """Jobs of a kind that wait and may be taken; the order of these columns is that of an index."""
    return jobs.c.state == State.QUEUED.value, jobs.c.kind == name, jobs.c.due <= now


def renew(store: Store, lease: Lease, *, spent: int = 0) -> bool:
    """Hold a job for longer, and say what it has spent so far; false when it is not ours any more."""
    with store.across(jobs, change=True) as everybody:
        until = later(everybody.clock(), lease.seconds)
        values = {"leased_until": until, "spent": spent}
        return bool(everybody.of(lease.project_id).change(jobs, values, *_ours(lease)))


def cancelled(store: Store, leases: Iterable[Lease]) -> list[str]:
    """The holders that were asked to stop."""
    holders = [lease.holder for lease in leases]
    running = (jobs.c.state == State.RUNNING.value, jobs.c.holder.in_(holders), jobs.c.stopping != 0)
    with store.across(jobs) as everybody:
        return [row.holder for row in everybody.rows(*running, only=("holder",))]


def finish(tx: Writing, lease: Lease, *, spent: int = 0) -> bool:
    """The job is done, if this transaction is kept; says whether the breaker of its kind closed with it.

    Refused when the job is not ours any more, or was cancelled: then nothing else of the transaction is kept.
    """
    row = _held(tx, lease)
    if row.stopping:
        raise FabulaError(Code.JOB_CANCELLED, f"The job {lease.key!r} was cancelled. Its result was not kept.")
    now = tx.clock()
    _end(tx, lease, row, State.DONE, now, spent)
    return guards.worked(tx, lease.kind)


def fail(tx: Writing, lease: Lease, kind: Kind, why: Code, note: str = "", *, spent: int = 0) -> State:
    """The try failed: the job waits for the next one, or that was the last. Says how it stands now."""
    row = _held(tx, lease)
    now = tx.clock()
    if row.stopping:
        return _end(tx, lease, row, State.CANCELLED, now, spent, why=Code.JOB_CANCELLED)
    guards.failed(tx, lease.kind, kind, why.value, now)
    return _tried(tx, lease, row, kind, now, spent, why, note)


def give_back(tx: Writing, lease: Lease, kind: Kind, *, died: bool, spent: int = 0) -> State:
    """The holder ends before the job: somebody else takes it. Only a holder that died has used up a try.

    That says nothing about its kind, so the breaker does not count it.
    """
    row = _held(tx, lease)
    now = tx.clock()
    if row.stopping:
        return _end(tx, lease, row, State.CANCELLED, now, spent, why=Code.JOB_CANCELLED)
    if died:
        return _tried(tx, lease, row, kind, now, spent, Code.JOB_ABANDONED, "Whoever ran it is gone.")
    values = {"due": now, "tries": max(row.tries - 1, 0)}
    return _end(tx, lease, row, State.QUEUED, now, spent, why=Code.JOB_STOPPED, **values)


def _tried(tx: Writing, lease: Lease, row: Row[Any], kind: Kind, now: str, spent: int, why: Code, note: str) -> State:
    """One try is used up."""
    if why in kind.final or row.tries >= kind.tries:
        return _end(tx, lease, row, State.FAILED, now, spent, why=why, note=note)
    delay = 0.0 if why is Code.JOB_ABANDONED else _delay(kind, row.tries)
    return _end(tx, lease, row, State.QUEUED, now, spent, why=why, note=note, due=later(now, delay))


def _end(
    tx: Writing,
    lease: Lease,
    row: Row[Any],
    state: State,
    now: str,
    spent: int,
    *,
    why: Code | None = None,
    note: str = "",
    **more: object,
) -> State:
    """The lease is over. A job that was asked for anew meanwhile begins afresh, whatever became of this run."""
    spent = max(spent, row.spent)
    if row.again:
        state, more = State.QUEUED, {"tries": 0, "due": row.due}
    values: dict[str, object] = {
        "state": state.value,
        "again": 0,
        "stopping": 0,
        "leased_until": None,
        "why": "" if why is None else why.value,
        "note": note[:_LONGEST_NOTE],
        "ended": now,
        "spent": 0,
        "micros": jobs.c.micros + spent,
        **more,
    }
    guards.book(tx, lease.kind, spent, now)
    if not tx.change(jobs, values, *_ours(lease)):
        raise _lost(lease)
    return state


def _held(tx: Writing, lease: Lease) -> Row[Any]:
    """The job, if it is still ours."""
    found = tx.rows(jobs, *_ours(lease), only=PLAIN)
    if not found:
        raise _lost(lease)
    return found[0]


def _ours(lease: Lease) -> tuple[Any, ...]:
    return (
        jobs.c.key == lease.key,
        jobs.c.state == State.RUNNING.value,
        jobs.c.holder == lease.holder,
        jobs.c.tries == lease.job.tries,
    )


def _lost(lease: Lease) -> FabulaError:
    return FabulaError(
        Code.JOB_LEASE_LOST,
        f"The job {lease.key!r} is not held by whoever brings this result (any more). Nothing was changed.",
    )


def _delay(kind: Kind, tries: int) -> float:
    """Twice as long each time, and not for all at the same moment."""
    return min(kind.first_delay * 2.0 ** (tries - 1), kind.longest_delay) * random.uniform(0.8, 1.2)


def _work(tx: Writing, key: str) -> Mapping[str, Any] | None:
    """What a job is about; None when that cannot be read, which must not keep the other jobs from being taken."""
    try:
        found = tx.rows(jobs, jobs.c.key == key, only=("work",))[0].work
    except ValueError:
        return None
    return found if isinstance(found, Mapping) else None
