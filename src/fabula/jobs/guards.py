"""Guards: the month's money, and a breaker for kinds of jobs that keep failing.

Both are asked when a job is about to be taken, and both live in the store, so they hold for every process. A job
that is held back stays queued and says why. The breaker opens after some failures in a row, lets one job try after
a pause, and closes when that one succeeds. Money counts by calendar month (UTC); what running jobs have spent so
far counts too, so a budget is passed by no more than what those under way spend to their end.
"""

from __future__ import annotations

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.jobs.model import Breaker, Kind, Money, State
from fabula.jobs.tables import breakers, jobs, months
from fabula.jobs.timestamps import later, month_of, next_month
from fabula.settings import edits as settings
from fabula.store.tables import projects
from fabula.store.transaction import Reading, Writing

BUDGET = "jobs.monthlyBudget"  # the setting, in whole units of the currency
USUAL_BUDGET = 5.0
_MOST = 1e9
_MILLION = 1_000_000


class Held(Struct, frozen=True):
    """Why a job has to wait, and until when."""

    why: Code
    until: str


def held_back(tx: Writing, name: str, kind: Kind, now: str, lease: float) -> Held | None:
    """May a job of this kind run now? In a half-open breaker, whoever asks first is the one that may try."""
    if kind.paid and money(tx, now).left <= 0:
        return Held(Code.JOB_BUDGET, next_month(now))
    row = tx.row(breakers, kind=name)
    if row is None or row.failures < kind.breaker_after:
        return None
    trial = kind.seconds + lease
    # A time further ahead than any pause was written before the clock was set back.
    if now < row.open_until <= later(now, max(kind.breaker_pause, trial)):
        return Held(Code.JOB_BREAKER_OPEN, row.open_until)
    mine = tx.change(
        breakers,
        {"open_until": later(now, trial)},
        breakers.c.kind == name,
        breakers.c.open_until == row.open_until,
    )
    return None if mine else Held(Code.JOB_BREAKER_OPEN, later(now, trial))


def failed(tx: Writing, name: str, kind: Kind, why: str, now: str) -> None:
    """One more failure of this kind."""
    counted = {"failures": breakers.c.failures + 1, "why": why}
    if not tx.change(breakers, counted, breakers.c.kind == name):
        tx.add(breakers, {"kind": name, "failures": 1, "why": why})
    opened = {"open_until": later(now, kind.breaker_pause)}
    tx.change(breakers, opened, breakers.c.kind == name, breakers.c.failures >= kind.breaker_after)


def worked(tx: Writing, name: str) -> bool:
    """A job of this kind succeeded: the breaker closes. Says whether it was anything but closed."""
    row = tx.row(breakers, kind=name)
    if row is None:
        return False
    tx.remove(breakers, breakers.c.kind == name)
    return bool(row.open_until)


def book(tx: Writing, name: str, micros: int, now: str, *, tries: int = 1) -> None:
    """Count a try and its money, unless the project is gone."""
    month = month_of(now)
    more = {"tries": months.c.tries + tries, "micros": months.c.micros + micros}
    if tx.change(months, more, months.c.month == month, months.c.kind == name):
        return
    if tx.row(projects) is not None:
        tx.add(months, {"month": month, "kind": name, "tries": tries, "micros": micros})


def money(reading: Reading, now: str) -> Money:
    """What background work may cost the project this month, and has cost so far."""
    month = month_of(now)
    by_kind = {row.kind: int(row.micros) for row in reading.rows(months, months.c.month == month)}
    under_way = reading.total(jobs, jobs.c.spent, jobs.c.state == State.RUNNING.value)
    return Money(month=month, budget=_budget(reading), spent=sum(by_kind.values()) + under_way, by_kind=by_kind)


def set_budget(tx: Writing, amount: float | None) -> None:
    """Say what background work may cost a month; None leaves it to the house. Jobs that waited for it look again."""
    if amount is not None and not (isinstance(amount, int | float) and 0 <= amount <= _MOST):
        raise FabulaError(Code.SETTING_INVALID, f"{amount!r} is no sum of money. Nothing was changed.")
    if amount is not None:
        settings.put(tx, BUDGET, amount)
    elif settings.get(tx, BUDGET) is not None:
        settings.unset(tx, BUDGET)
    waiting = (jobs.c.state == State.QUEUED.value, jobs.c.why == Code.JOB_BUDGET.value)
    tx.change(jobs, {"due": tx.clock(), "why": ""}, *waiting)


def breakers_of(reading: Reading) -> list[Breaker]:
    """Kinds that failed lately."""
    return [
        Breaker(kind=row.kind, failures=row.failures, open_until=row.open_until, why=row.why)
        for row in reading.rows(breakers, order=(breakers.c.kind,))
    ]


def _budget(reading: Reading) -> int:
    """In millionths. A setting that is no sum of money allows nothing: with money, doubt means no."""
    setting = settings.get(reading, BUDGET)
    value = USUAL_BUDGET if setting is None else setting.value
    sound = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _MOST
    return round(value * _MILLION) if sound else 0
