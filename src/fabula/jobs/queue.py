"""The queue: enqueue jobs, list them, retry and cancel them.

A job is enqueued in the transaction of the change it follows from, under a key that says what it is about. Enqueuing
it again while it waits merges the two: the newest data counts, and the due time moves, but never further than
`max_delay` seconds after the job was first enqueued, so that it runs even where somebody saves every few seconds.
Enqueuing it while it runs makes it run once more afterwards, because its data has changed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from math import isfinite
from typing import Any

import msgspec
from sqlalchemy import Row, bindparam, case

from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import is_encodable
from fabula.core.messages import message
from fabula.jobs.model import FINISHED_STATES, JobState, JobSummary
from fabula.jobs.tables import COLUMNS_WITHOUT_WORK, jobs
from fabula.jobs.timestamps import add_seconds, seconds_between
from fabula.store.queries import RowQuery
from fabula.store.rows import read_struct
from fabula.store.transaction import ReadTransaction, WriteTransaction, row_missing

MAX_DELAY = 600.0  # seconds by which enqueuing again can postpone a job
_MAX_WORK = 100_000  # bytes
_MAX_SECONDS_AHEAD = 366 * 86_400.0
_KIND = re.compile(r"[a-z][a-z0-9_.-]{0,63}")
_KEY = re.compile(r"[^\x00-\x1f\x7f]{1,200}")
_MERGE_COLUMNS = RowQuery(
    jobs, jobs.c.key == bindparam("key"), only=("state", "again", "holder", "due", "latest", "tries")
)
MIN_POSTPONED = 1.0  # seconds; to move a job by less is not worth a write
_RESET = {"state": JobState.QUEUED.value, "tries": 0, "why": "", "note": ""}


def enqueue(
    tx: WriteTransaction,
    kind: str,
    key: str,
    work: Mapping[str, Any] | None = None,
    *,
    due_in: float = 0.0,
    max_delay: float = MAX_DELAY,
) -> None:
    """Enqueue a job that is due in `due_in` seconds, in the transaction of the change it follows from."""
    _check(kind, key, due_in, max_delay)
    request = {"kind": kind, "work": _encode_work(key, work or {})}
    now = tx.current_time()
    due, latest = add_seconds(now, due_in), add_seconds(now, max(max_delay, due_in))
    while rows := tx.query(_MERGE_COLUMNS, key=key):
        row = rows[0]
        running = row.state == JobState.RUNNING.value
        if row.state in FINISHED_STATES:
            values = {**_RESET, "micros": 0, "started": "", "ended": "", "queued": now, "due": due, "latest": latest}
        elif running and not row.again:
            values = {"again": 1, "queued": now, "due": due, "latest": latest}
        else:
            values = {"due": min(due, row.latest)} | ({} if running else _RESET)
        # A worker can take or return the job between the query and the update; then the loop starts again.
        same = {"key": key, "state": row.state, "holder": row.holder}
        if tx.change_row(jobs, same, request | values):
            return
    tx.insert(jobs, {"key": key, **request, "queued": now, "due": due, "latest": latest})


def postpone(tx: WriteTransaction, key: str, due_in: float) -> bool:
    """Make a job that waits due in `due_in` seconds, as enqueuing it again would; return whether one waits.

    One that was put off within the last second stays as it is.
    """
    rows = tx.query(_MERGE_COLUMNS, key=key)
    if not rows or rows[0].state != JobState.QUEUED.value:
        return False
    row, now = rows[0], tx.current_time()
    wanted = add_seconds(now, due_in)
    due = min(wanted, row.latest)
    if not row.tries and (row.due == due or (row.due < due and seconds_between(row.due, wanted) <= MIN_POSTPONED)):
        return True
    return tx.change_row(jobs, {"key": key, "state": row.state, "holder": row.holder}, {"due": due, **_RESET})


def is_valid_key(key: str) -> bool:
    """Whether this can be the key of a job."""
    return _KEY.fullmatch(key) is not None and is_encodable(key)


def list_jobs(
    reading: ReadTransaction, *, states: tuple[JobState, ...] = tuple(JobState), limit: int | None = None
) -> list[JobSummary]:
    """A project's jobs: running, then waiting, then finished ones with the latest first."""
    now = reading.current_time()
    selected = jobs.c.state.in_([state.value for state in states])
    rank = case((jobs.c.state == JobState.RUNNING.value, 0), (jobs.c.state == JobState.QUEUED.value, 1), else_=2)
    order = (rank, jobs.c.ended.desc(), jobs.c.due, jobs.c.key)
    return [
        _make_summary(row, now)
        for row in reading.rows(jobs, selected, order=order, limit=limit, only=COLUMNS_WITHOUT_WORK)
    ]


def count_jobs(reading: ReadTransaction, *, ended_since: str = "") -> dict[JobState, int]:
    """The number of a project's jobs in each state; of those that ended, only since a time if one is given."""
    counts = {}
    for state in JobState:
        waits = state in (JobState.QUEUED, JobState.RUNNING)
        since = () if waits or not ended_since else (jobs.c.ended >= ended_since,)
        counts[state] = reading.count(jobs, jobs.c.state == state.value, *since)
    return counts


def get_job(reading: ReadTransaction, key: str) -> JobSummary:
    """The summary of one job."""
    return _make_summary(_require_job(reading, key), reading.current_time())


def retry_job(tx: WriteTransaction, key: str) -> None:
    """Make a job due now, however it ended before and however long it would have waited."""
    _require_job(tx, key)
    now = tx.current_time()
    values = {**_RESET, "queued": now, "due": now, "latest": now, "again": 0, "stopping": 0}
    if not tx.update_rows(jobs, values, jobs.c.key == key, jobs.c.state != JobState.RUNNING.value):
        raise FabulaError(
            Code.JOB_RUNNING,
            message("The job {key!r} is running. Wait for it, or cancel it first. Nothing was changed.", key=key),
        )


def make_due(tx: WriteTransaction, keys: Collection[str], kinds: Collection[str]) -> int:
    """Make waiting jobs of some kinds due now that have not failed before; return how many."""
    waiting = (jobs.c.state == JobState.QUEUED.value, jobs.c.tries == 0, jobs.c.why == "")
    return tx.update_rows(jobs, {"due": tx.current_time()}, jobs.c.key.in_(keys), jobs.c.kind.in_(kinds), *waiting)


def cancel_job(tx: WriteTransaction, key: str) -> JobState:
    """Cancel a job: a waiting one at once, a running one when it next checks its token. Return its state."""
    running = jobs.c.state == JobState.RUNNING.value
    active = jobs.c.state.in_([JobState.QUEUED.value, JobState.RUNNING.value])
    values = {
        "state": case((running, JobState.RUNNING.value), else_=JobState.CANCELLED.value),
        "stopping": case((running, 1), else_=0),
        "again": 0,
        "why": Code.JOB_CANCELLED.value,
        "note": "",
        "ended": case((running, jobs.c.ended), else_=tx.current_time()),
    }
    tx.update_rows(jobs, values, jobs.c.key == key, active)
    return JobState(_require_job(tx, key).state)


def _require_job(reading: ReadTransaction, key: str) -> Row[Any]:
    rows = reading.rows(jobs, jobs.c.key == key, only=COLUMNS_WITHOUT_WORK)
    if not rows:
        raise row_missing(jobs, {"key": key})
    return rows[0]


def _make_summary(row: Row[Any], now: str) -> JobSummary:
    end = now if row.state == JobState.RUNNING.value else row.ended
    return read_struct(
        JobSummary,
        row,
        reason=row.why,
        queued_at=row.queued,
        due_at=row.due,
        started_at=row.started,
        ended_at=row.ended,
        seconds=max(seconds_between(row.started, end), 0.0) if row.started and end else None,
        cost_micros=row.micros + row.spent,
        runs_again=row.again,
        is_stopping=row.stopping,
    )


def _check(kind: str, key: str, due_in: float, max_delay: float) -> None:
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise _invalid_job(f"{kind!r} cannot be a kind of job: small letters, digits, `.`, `_` and `-`")
    if not isinstance(key, str) or not is_valid_key(key):
        raise _invalid_job(f"{str(key)[:80]!r} cannot be the key of a job: up to 200 characters on one line")
    for seconds in (due_in, max_delay):
        valid = isinstance(seconds, int | float) and isfinite(seconds)
        if not valid or not 0 <= seconds <= _MAX_SECONDS_AHEAD:
            raise _invalid_job(f"the job {key!r} would be due in {seconds!r} seconds")


def _encode_work(key: str, work: object) -> Mapping[str, Any]:
    """The data of a job as plain JSON, which is what the handler gets."""
    if not isinstance(work, Mapping):
        raise _invalid_job(f"the work of {key!r} is not a mapping of names to values")
    try:
        encoded = msgspec.json.encode(work)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise _invalid_job(f"the work of {key!r} cannot be encoded as JSON ({type(error).__name__})") from error
    if len(encoded) > _MAX_WORK:
        raise _invalid_job(f"the work of {key!r} takes {len(encoded)} bytes, and may take {_MAX_WORK}")
    plain: dict[str, Any] = msgspec.json.decode(encoded)
    return plain


def _invalid_job(problem: str) -> FabulaError:
    return FabulaError(
        Code.JOB_INVALID, message("This job cannot be queued: {problem}. Nothing was changed.", problem=problem)
    )
