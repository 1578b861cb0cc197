"""Upkeep: what every worker does now and then for all jobs, whoever queued them.

It gives back what dead holders held, lets jobs go on that wait for money which is there by now, puts times right
that were written before a clock was set back, and forgets what was finished long ago.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import ColumnElement, Row, and_, or_

from fabula.core.errors import Code, FabulaError
from fabula.jobs import guards, leases
from fabula.jobs.model import SETTLED, Job, Kind, Lease, State
from fabula.jobs.tables import PLAIN, jobs
from fabula.jobs.timestamps import later
from fabula.store.store import Store

KEPT_DAYS = 14  # finished jobs
_AT_ONCE = 500
_ASKEW = 60.0  # seconds ahead of us at which a time was written by a clock that has been set back since


def give_back_dead(store: Store, kinds: Mapping[str, Kind], *, seconds: float) -> int:
    """Jobs whose lease ran out wait for another holder, or have failed where that was the last try; says how many."""
    with store.across(jobs) as everybody:
        now = everybody.clock()
        over = or_(jobs.c.leased_until <= now, jobs.c.leased_until.is_(None))
        mine = jobs.c.kind.in_(list(kinds))
        dead = everybody.rows(jobs.c.state == State.RUNNING.value, mine, over, limit=_AT_ONCE, only=PLAIN)
    given = 0
    for row in dead:
        try:
            with store.write(project=row.project_id) as tx:
                leases.give_back(tx, _lease(row, seconds), kinds[row.kind], died=True)
            given += 1
        except FabulaError as error:
            if error.code is not Code.JOB_LEASE_LOST:  # somebody else was quicker, or the project is gone
                raise
    return given


def put_times_right(store: Store, *, seconds: float) -> int:
    """After a clock was set back: no lease lasts longer than a lease, and nothing was asked for in the future."""
    with store.across(jobs) as everybody:
        now = everybody.clock()
        held = and_(jobs.c.state == State.RUNNING.value, jobs.c.leased_until > later(now, seconds + _ASKEW))
        waits = and_(jobs.c.state == State.QUEUED.value, jobs.c.queued > later(now, _ASKEW))
        askew = everybody.rows(or_(held, waits), limit=_AT_ONCE, only=PLAIN)
    for row in askew:
        with store.across(jobs, change=True) as everybody:
            tx = everybody.of(row.project_id)
            same = (jobs.c.key == row.key, jobs.c.state == row.state, jobs.c.holder == row.holder)
            if row.state == State.RUNNING.value:  # a holder that lives renews it
                tx.change(jobs, {"leased_until": later(now, seconds)}, *same, held)
            else:
                tx.change(jobs, {"queued": now, "due": now, "latest": now}, *same, waits)
    return len(askew)


def release(store: Store, project: str, why: Code, *kinds: str) -> int:
    """Jobs of a project that were held back for this reason may be taken now; says how many."""
    waits = [jobs.c.state == State.QUEUED.value, jobs.c.why == why.value]
    if kinds:
        waits.append(jobs.c.kind.in_(kinds))
    released = 0
    while True:
        with store.across(jobs, change=True) as everybody:
            ours = jobs.c.project_id == project
            rows = everybody.rows(*waits, ours, limit=_AT_ONCE, only=("key",), lock=True)
            values = {"due": everybody.clock(), "why": ""}
            if not rows:
                return released
            keys = jobs.c.key.in_([row.key for row in rows])
            released += everybody.of(project).change(jobs, values, keys)


def release_paid(store: Store) -> int:
    """Jobs that wait for money go on where there is some again; says how many."""
    released = 0
    with store.across(jobs) as everybody:
        now = everybody.clock()
        waiting = everybody.owners(jobs.c.state == State.QUEUED.value, jobs.c.why == Code.JOB_BUDGET.value)
        richer = [project for project in waiting if guards.money(everybody.of(project), now).left > 0]
    for project in richer:
        released += release(store, project, Code.JOB_BUDGET)
    return released


def prune(store: Store, *, days: float = KEPT_DAYS) -> int:
    """Forget what was finished long ago; says how many."""
    forgotten = 0
    while True:
        with store.across(jobs, change=True) as everybody:
            old = _finished_before(later(everybody.clock(), -days * 86_400))
            by_project: defaultdict[str, list[str]] = defaultdict(list)
            for row in everybody.rows(*old, limit=_AT_ONCE, only=("project_id", "key"), lock=True):
                by_project[row.project_id].append(row.key)
            for project, keys in by_project.items():
                forgotten += everybody.of(project).remove(jobs, jobs.c.key.in_(keys))
        if not by_project:
            return forgotten


def _finished_before(time: str) -> Iterable[ColumnElement[bool]]:
    return jobs.c.state.in_([state.value for state in SETTLED]), jobs.c.ended < time


def _lease(row: Row[Any], seconds: float) -> Lease:
    """The lease under which a job was taken, as its row tells it."""
    job = Job(project_id=row.project_id, key=row.key, kind=row.kind, work={}, tries=row.tries)
    return Lease(job=job, holder=row.holder, seconds=seconds)
