"""Guards: the monthly budget, and a circuit breaker for each kind of job.

Both are checked when a job is about to be taken. Both are in the store, so they hold for every process. A job that is
held back stays queued and names the reason. The breaker opens after some failures in a row, lets one job try after a
pause, and closes when that one succeeds. Costs count by calendar month (UTC). The costs of running jobs count too, so
the budget is exceeded by at most what the running jobs still cost.

Where the clock was set back, costs of months that lie ahead count in this one: a clock that jumps opens no second
budget for the time that it comes back to. With money, doubt means no.
"""

from __future__ import annotations

from collections import Counter

from msgspec import Struct

from fabula.core.errors import Code
from fabula.jobs.model import CircuitBreaker, JobKind, JobState, MonthlySpending
from fabula.jobs.tables import breakers, jobs, months
from fabula.jobs.timestamps import add_seconds, month_of, next_month_start
from fabula.settings import edits as settings
from fabula.settings.values import read_values
from fabula.store.rows import read_struct
from fabula.store.store import LOCAL_USER, Store
from fabula.store.tables import projects
from fabula.store.transaction import ReadTransaction, WriteTransaction

BUDGET = "History.Budget.MonthlyBudgetUSD"  # the setting
_MILLION = 1_000_000


class JobHold(Struct, frozen=True):
    """Why a job has to wait, and until when."""

    reason: Code
    until: str


def find_hold(tx: WriteTransaction, name: str, kind: JobKind, now: str, lease: float, budget: int) -> JobHold | None:
    """Why a job of this kind cannot run now; None where it can. In a half-open breaker, the first caller may try."""
    if kind.costs_money and read_spending(tx, now, budget).remaining <= 0:
        return JobHold(Code.JOB_BUDGET, next_month_start(now))
    row = tx.row(breakers, kind=name)
    if row is None or row.failures < kind.breaker_threshold:
        return None
    trial = kind.timeout + lease
    # A time further ahead than any pause was written before the clock was set back.
    if now < row.open_until <= add_seconds(now, max(kind.breaker_pause, trial)):
        return JobHold(Code.JOB_BREAKER_OPEN, row.open_until)
    is_first = tx.update_rows(
        breakers,
        {"open_until": add_seconds(now, trial)},
        breakers.c.kind == name,
        breakers.c.open_until == row.open_until,
    )
    return None if is_first else JobHold(Code.JOB_BREAKER_OPEN, add_seconds(now, trial))


def record_failure(tx: WriteTransaction, name: str, kind: JobKind, why: str, now: str) -> None:
    """Count a failure of this kind; the breaker opens at its threshold."""
    values = {"failures": breakers.c.failures + 1, "why": why}
    if not tx.update_rows(breakers, values, breakers.c.kind == name):
        tx.insert(breakers, {"kind": name, "failures": 1, "why": why})
    opened = {"open_until": add_seconds(now, kind.breaker_pause)}
    tx.update_rows(breakers, opened, breakers.c.kind == name, breakers.c.failures >= kind.breaker_threshold)


def record_success(tx: WriteTransaction, name: str) -> bool:
    """Close the breaker because a job of this kind succeeded; return whether it was open."""
    row = tx.row(breakers, kind=name)
    if row is None:
        return False
    tx.delete_rows(breakers, breakers.c.kind == name)
    return bool(row.open_until)


def book_cost(tx: WriteTransaction, name: str, micros: int, now: str, *, tries: int = 1) -> None:
    """Count a try and its cost, unless the project is gone."""
    month = month_of(now)
    values = {"tries": months.c.tries + tries, "micros": months.c.micros + micros}
    if tx.update_rows(months, values, months.c.month == month, months.c.kind == name):
        return
    if tx.row(projects) is not None:
        tx.insert(months, {"month": month, "kind": name, "tries": tries, "micros": micros})


def read_spending(reading: ReadTransaction, now: str, budget: int) -> MonthlySpending:
    """The budget of background work in this month (in millionths), and its costs so far, later months included."""
    month = month_of(now)
    by_kind = Counter[str]()
    for row in reading.rows(months, months.c.month >= month):
        by_kind[row.kind] += int(row.micros)
    running = reading.sum_values(jobs, jobs.c.spent, jobs.c.state == JobState.RUNNING.value)
    return MonthlySpending(month=month, budget=budget, spent=by_kind.total() + running, by_kind=dict(by_kind))


def read_monthly_budget(store: Store, user: str = LOCAL_USER) -> int:
    """Read what background work may cost each project a month, in millionths of a dollar; the person sets it.

    A stored value that is no sum of money allows nothing: with money, doubt means no.
    """
    with store.read(user=user) as reading:
        found = read_values(reading, [BUDGET]).resolve(BUDGET)
    return 0 if found.unusable else round(found.value * _MILLION)


def set_monthly_budget(tx: WriteTransaction, amount: float | None) -> None:
    """Set the person's budget for background work; None resets it. Workers release jobs that waited for money."""
    if amount is not None:
        settings.set_value(tx, BUDGET, amount, scope="person")
    elif settings.read_stored(tx, BUDGET, scope="person") is not None:
        settings.reset(tx, BUDGET, scope="person")


def list_breakers(reading: ReadTransaction) -> list[CircuitBreaker]:
    """The circuit breakers of the kinds that failed lately."""
    rows = reading.rows(breakers, order=(breakers.c.kind,))
    return [read_struct(CircuitBreaker, row, reason=row.why) for row in rows]
