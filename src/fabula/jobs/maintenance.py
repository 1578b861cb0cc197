"""Maintenance of the queue, which every worker does from time to time for the jobs of all projects.

It requeues jobs whose holder is gone, releases jobs that wait for the budget where there is budget again, corrects
times that were written before a clock was set back, and deletes jobs that finished long ago.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from sqlalchemy import and_, or_

from fabula.core.errors import Code, FabulaError
from fabula.jobs import guards, leases
from fabula.jobs.lease_watch import LeaseWatch
from fabula.jobs.model import FINISHED_STATES, JobKind, JobState, Lease
from fabula.jobs.tables import COLUMNS_WITHOUT_WORK, jobs
from fabula.jobs.timestamps import add_seconds
from fabula.store.rows import read_struct
from fabula.store.store import Store

RETENTION_DAYS = 14  # of finished jobs
_BATCH = 500
_CLOCK_TOLERANCE = 60.0  # seconds; a time further ahead was written before the clock was set back
_LONGEST_WAIT = 86_400.0  # seconds that a job waits for its next try, or for its circuit breaker


def requeue_lost(store: Store, kinds: Mapping[str, JobKind], watch: LeaseWatch, *, seconds: float) -> int:
    """Requeue running jobs whose holder is gone; those without a try left have failed.

    Return how many there were.
    """
    with store.all_projects(jobs) as all_jobs:
        now = all_jobs.current_time()
        known = jobs.c.kind.in_(list(kinds))
        rows = all_jobs.rows(jobs.c.state == JobState.RUNNING.value, known, limit=_BATCH, only=COLUMNS_WITHOUT_WORK)
    count = 0
    for row in watch.find_lost(rows, now):
        try:
            with store.write(project=row.project_id) as tx:
                leases.return_job(
                    tx, read_struct(Lease, row, work={}, duration=seconds), kinds[row.kind], holder_died=True
                )
            count += 1
        except FabulaError as error:
            if error.code is not Code.JOB_LEASE_LOST:  # another worker was faster, or the project is gone
                raise
        watch.forget(row)
    return count


def fix_future_times(store: Store, *, seconds: float) -> int:
    """Correct times in the future, after a clock was set back: the ends of leases, and when jobs were queued or wait.

    Jobs that wait for the budget are released elsewhere, when there is budget again.
    """
    with store.all_projects(jobs) as all_jobs:
        now = all_jobs.current_time()
        running = and_(
            jobs.c.state == JobState.RUNNING.value, jobs.c.leased_until > add_seconds(now, seconds + _CLOCK_TOLERANCE)
        )
        held_back = and_(jobs.c.why.not_in(["", Code.JOB_BUDGET.value]), jobs.c.due > jobs.c.latest)
        waiting = and_(
            jobs.c.state == JobState.QUEUED.value,
            or_(
                jobs.c.queued > add_seconds(now, _CLOCK_TOLERANCE),
                and_(held_back, jobs.c.due > add_seconds(now, _LONGEST_WAIT)),
            ),
        )
        rows = all_jobs.rows(or_(running, waiting), limit=_BATCH, only=COLUMNS_WITHOUT_WORK)
    for row in rows:
        with store.all_projects(jobs, writable=True) as all_jobs:
            tx = all_jobs.for_owner(row.project_id)
            same = (jobs.c.key == row.key, jobs.c.state == row.state, jobs.c.holder == row.holder)
            if row.state == JobState.RUNNING.value:  # a live holder renews it
                tx.update_rows(jobs, {"leased_until": add_seconds(now, seconds)}, *same, running)
            else:
                tx.update_rows(jobs, {"queued": now, "due": now, "latest": now}, *same, waiting)
    return len(rows)


def release_waiting(store: Store, project: str, reason: Code, *kinds: str) -> int:
    """Release jobs of a project that were held back for this reason; return how many."""
    waiting = [jobs.c.state == JobState.QUEUED.value, jobs.c.why == reason.value]
    if kinds:
        waiting.append(jobs.c.kind.in_(kinds))
    released = 0
    while True:
        with store.all_projects(jobs, writable=True) as all_jobs:
            in_project = jobs.c.project_id == project
            rows = all_jobs.rows(*waiting, in_project, limit=_BATCH, only=("key",), lock=True)
            values = {"due": all_jobs.current_time(), "why": ""}
            if not rows:
                return released
            keys = jobs.c.key.in_([row.key for row in rows])
            released += all_jobs.for_owner(project).update_rows(jobs, values, keys)


def release_within_budget(store: Store) -> int:
    """Release jobs that wait for the budget, in projects that are within it again; return how many."""
    released = 0
    budget = guards.read_monthly_budget(store)
    with store.all_projects(jobs) as all_jobs:
        now = all_jobs.current_time()
        waiting = all_jobs.owner_ids(jobs.c.state == JobState.QUEUED.value, jobs.c.why == Code.JOB_BUDGET.value)
        within_budget = [
            project
            for project in waiting
            if guards.read_spending(all_jobs.for_owner(project), now, budget).remaining > 0
        ]
    for project in within_budget:
        released += release_waiting(store, project, Code.JOB_BUDGET)
    return released


def prune_finished(store: Store, *, days: float = RETENTION_DAYS) -> int:
    """Delete jobs that finished long ago; return how many."""
    deleted = 0
    while True:
        with store.all_projects(jobs, writable=True) as all_jobs:
            ended = jobs.c.ended < add_seconds(all_jobs.current_time(), -days * 86_400)
            finished = jobs.c.state.in_([state.value for state in FINISHED_STATES])
            by_project: defaultdict[str, list[str]] = defaultdict(list)
            for row in all_jobs.rows(finished, ended, limit=_BATCH, only=("project_id", "key"), lock=True):
                by_project[row.project_id].append(row.key)
            for project, keys in by_project.items():
                deleted += all_jobs.for_owner(project).delete_rows(jobs, jobs.c.key.in_(keys))
        if not by_project:
            return deleted
