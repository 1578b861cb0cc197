"""Jobs as rooms and people meet them: queue one, look at them, try again, cancel.

A job is queued in the transaction of what it follows from, under a key that says what it is about. Asking again
while it waits merges: the newest work counts, and the due time moves to the new one, though never further than
`at_most` seconds after it was first asked for, so that somebody who saves every few seconds still gets it. Asking
while it runs lets it run once more afterwards, since what it followed from has changed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite
from typing import Any

import msgspec
from sqlalchemy import Row, case

from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import whole
from fabula.jobs.model import SETTLED, Card, State
from fabula.jobs.tables import PLAIN, jobs
from fabula.jobs.timestamps import later, seconds_between
from fabula.store.transaction import Reading, Writing, missing

AT_MOST = 600.0  # seconds by which asking again can put a job off
_LONGEST_WORK = 100_000  # bytes
_FURTHEST = 366 * 86_400.0  # seconds ahead
_KIND = re.compile(r"[a-z][a-z0-9_.-]{0,63}")
_KEY = re.compile(r"[^\x00-\x1f\x7f]{1,200}")
_MERGED = ("state", "again", "holder", "latest")
_ANEW = {"state": State.QUEUED.value, "tries": 0, "why": "", "note": ""}


def queue(
    tx: Writing,
    kind: str,
    key: str,
    work: Mapping[str, Any] | None = None,
    *,
    due_in: float = 0.0,
    at_most: float = AT_MOST,
) -> None:
    """Ask for a job, due in so many seconds, in the transaction of what it follows from."""
    _check(kind, key, due_in, at_most)
    asked = {"kind": kind, "work": _packed(key, work or {})}
    now = tx.clock()
    due, latest = later(now, due_in), later(now, max(at_most, due_in))
    while found := tx.rows(jobs, jobs.c.key == key, only=_MERGED):
        row = found[0]
        running = row.state == State.RUNNING.value
        if row.state in SETTLED:
            more = {**_ANEW, "micros": 0, "started": "", "ended": "", "queued": now, "due": due, "latest": latest}
        elif running and not row.again:
            more = {"again": 1, "queued": now, "due": due, "latest": latest}
        else:
            more = {"due": min(due, row.latest)} | ({} if running else _ANEW)
        # A worker may take the job, or give it back, between the two: then it is looked at again.
        same = (jobs.c.key == key, jobs.c.state == row.state, jobs.c.holder == row.holder)
        if tx.change(jobs, asked | more, *same):
            return
    tx.add(jobs, {"key": key, **asked, "queued": now, "due": due, "latest": latest})


def sound_key(key: str) -> bool:
    """Can this be the key of a job?"""
    return _KEY.fullmatch(key) is not None and whole(key)


def listed(reading: Reading, *, states: tuple[State, ...] = tuple(State), limit: int | None = None) -> list[Card]:
    """A project's jobs: those at work and waiting first, then the finished, the latest first."""
    now = reading.clock()
    wanted = jobs.c.state.in_([state.value for state in states])
    rank = case((jobs.c.state == State.RUNNING.value, 0), (jobs.c.state == State.QUEUED.value, 1), else_=2)
    order = (rank, jobs.c.ended.desc(), jobs.c.due, jobs.c.key)
    return [_card(row, now) for row in reading.rows(jobs, wanted, order=order, limit=limit, only=PLAIN)]


def counted(reading: Reading) -> dict[State, int]:
    """How many of a project's jobs stand how."""
    return {state: reading.count(jobs, jobs.c.state == state.value) for state in State}


def look(reading: Reading, key: str) -> Card:
    """One job."""
    return _card(_row(reading, key), reading.clock())


def retry(tx: Writing, key: str) -> None:
    """Run a job now, whatever became of it before, or however long it would have waited."""
    row = _row(tx, key)
    now = tx.clock()
    values = {
        "state": State.QUEUED.value,
        "queued": now,
        "due": now,
        "latest": now,
        "tries": 0,
        "again": 0,
        "stopping": 0,
        "why": "",
        "note": "",
    }
    if row.state == State.RUNNING.value or not tx.change(
        jobs, values, jobs.c.key == key, jobs.c.state != State.RUNNING.value
    ):
        raise FabulaError(
            Code.JOB_RUNNING, f"The job {key!r} is running. Wait for it, or cancel it first. Nothing was changed."
        )


def cancel(tx: Writing, key: str) -> State:
    """Give a job up: one that waits at once, one that runs as soon as it looks up. Says how it stands now."""
    _row(tx, key)
    row = jobs.c
    running = row.state == State.RUNNING.value
    values = {
        "state": case((running, State.RUNNING.value), else_=State.CANCELLED.value),
        "stopping": case((running, 1), else_=0),
        "again": 0,
        "why": Code.JOB_CANCELLED.value,
        "note": "",
        "ended": case((running, row.ended), else_=tx.clock()),
    }
    tx.change(jobs, values, row.key == key, row.state.in_([State.QUEUED.value, State.RUNNING.value]))
    return State(_row(tx, key).state)


def _row(reading: Reading, key: str) -> Row[Any]:
    found = reading.rows(jobs, jobs.c.key == key, only=PLAIN)
    if not found:
        raise missing(jobs, {"key": key})
    return found[0]


def _card(row: Row[Any], now: str) -> Card:
    end = now if row.state == State.RUNNING.value else row.ended
    return Card(
        key=row.key,
        kind=row.kind,
        state=State(row.state),
        why=row.why,
        note=row.note,
        queued=row.queued,
        due=row.due,
        started=row.started,
        ended=row.ended,
        seconds=max(seconds_between(row.started, end), 0.0) if row.started and end else None,
        tries=row.tries,
        micros=row.micros + row.spent,
        again=bool(row.again),
        stopping=bool(row.stopping),
    )


def _check(kind: str, key: str, due_in: float, at_most: float) -> None:
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise _refused(f"{kind!r} cannot be a kind of jobs: small letters, digits, `.`, `_` and `-`")
    if not isinstance(key, str) or not sound_key(key):
        raise _refused(f"{str(key)[:80]!r} cannot be the key of a job: up to 200 characters on one line")
    for seconds in (due_in, at_most):
        sound = isinstance(seconds, int | float) and isfinite(seconds)
        if not sound or not 0 <= seconds <= _FURTHEST:
            raise _refused(f"the job {key!r} would be due in {seconds!r} seconds")


def _packed(key: str, work: object) -> Mapping[str, Any]:
    """The work as plain JSON, which is what the handler gets too."""
    if not isinstance(work, Mapping):
        raise _refused(f"the work of {key!r} is no table of names and values")
    try:
        written = msgspec.json.encode(work)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise _refused(f"the work of {key!r} cannot be written as JSON ({type(error).__name__})") from error
    if len(written) > _LONGEST_WORK:
        raise _refused(f"the work of {key!r} takes {len(written)} bytes, and may take {_LONGEST_WORK}")
    plain: dict[str, Any] = msgspec.json.decode(written)
    return plain


def _refused(why: str) -> FabulaError:
    return FabulaError(Code.JOB_INVALID, f"This job cannot be queued: {why}. Nothing was changed.")
