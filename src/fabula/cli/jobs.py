"""Commands about background work: look at it, run it, try again, cancel, and say what it may cost."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.cli.desk import print_json
from fabula.cli.projects import JSON, PROJECT, STORE, open_store
from fabula.cli.runs import plain
from fabula.core.errors import Code, FabulaError

if TYPE_CHECKING:
    from fabula.jobs.model import Breaker, Card, Money, State
    from fabula.store.store import Store

KEY = Annotated[str | None, typer.Argument(help="A job, by its key.")]
_MILLION = 1_000_000


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    jobs = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Work that is done in the background.")
    for name, command in (("list", list_jobs), ("run", run), ("retry", retry), ("cancel", cancel), ("budget", budget)):
        jobs.command(name=name)(command)
    app.add_typer(jobs, name="jobs")


def list_jobs(
    project: Annotated[str | None, typer.Argument(help="A project of the store; all of them if left out.")] = None,
    state: Annotated[
        list[str] | None, typer.Option("--state", help="queued, running, done, failed or cancelled.")
    ] = None,
    most: Annotated[int, typer.Option("--most", help="How many of each project.", min=1)] = 100,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Jobs, which kinds have to wait because they keep failing, and the month's money."""
    from fabula.jobs import guards
    from fabula.jobs import queue as service
    from fabula.manuscript import projects

    states = _states(state)
    with open_store(store) as opened:
        cards = projects.everything(opened) if project is None else [projects.find(opened, project)]
        found = []
        for one in cards:
            with opened.read(project=one.id) as reading:
                listed = service.listed(reading, states=states, limit=most)
                found.append((one, listed, guards.breakers_of(reading), guards.money(reading, reading.clock())))
    if as_json:
        print_json([_project_json(one.id, listed, broken, money) for one, listed, broken, money in found])
        return
    for one, listed, broken, money in found:
        if listed or broken or project is not None:
            print(f"{one.title} ({one.id}): {_money(money)}")
            _show(listed, broken)
    if not any(listed for _, listed, _, _ in found):
        print("No jobs.")


def run(
    keep: Annotated[bool, typer.Option("--keep", help="Go on until Ctrl-C, and do what is queued meanwhile.")] = False,
    threads: Annotated[int, typer.Option("--threads", help="How many at once.", min=1, max=32)] = 2,
    store: STORE = None,
) -> None:
    """Do what is due, of all projects of the store."""
    from fabula.jobs.worker import Worker
    from fabula.workspace.handlers.job_kinds import kinds_of
    from fabula.workspace.views import Library

    with open_store(store) as opened:
        worker = Worker(opened, kinds_of(Library(opened)), threads=threads)
        if keep:
            with _asked_to_end() as told, worker:
                told.wait()
        else:
            worker.drain()
        now = _counted(opened)
    print(", ".join(f"{many} {state}" for state, many in now.items() if many) or "No jobs.")


def retry(
    project: PROJECT,
    key: KEY = None,
    failed: Annotated[bool, typer.Option("--failed", help="All that failed.")] = False,
    store: STORE = None,
) -> None:
    """Run a job again, or at once, whatever it waits for."""
    from fabula.jobs import queue as service
    from fabula.jobs.model import State
    from fabula.manuscript import projects

    with open_store(store) as opened, opened.write(project=projects.find(opened, project).id) as tx:
        keys = _chosen(key, failed, [one.key for one in service.listed(tx, states=(State.FAILED,))], "--failed")
        for one in keys:
            service.retry(tx, one)
    print(f"{_many(keys)} queued. Do them now: fabula jobs run")


def cancel(
    project: PROJECT,
    key: KEY = None,
    everything: Annotated[bool, typer.Option("--all", help="All that wait or run.")] = False,
    store: STORE = None,
) -> None:
    """Give a job up; one that is running is told to stop."""
    from fabula.jobs import queue as service
    from fabula.jobs.model import State
    from fabula.manuscript import projects

    with open_store(store) as opened, opened.write(project=projects.find(opened, project).id) as tx:
        under_way = [one.key for one in service.listed(tx, states=(State.QUEUED, State.RUNNING))]
        keys = _chosen(key, everything, under_way, "--all")
        stands = [service.cancel(tx, one) for one in keys]
    stopping = sum(state is State.RUNNING for state in stands)
    print(f"{_many(keys)} cancelled" + (f", {stopping} of them as soon as they look up." if stopping else "."))


def budget(
    project: PROJECT,
    amount: Annotated[float | None, typer.Argument(help="What jobs may cost a month, in dollars.")] = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """What background work has cost this month; with an amount, what it may cost."""
    from fabula.jobs import guards
    from fabula.manuscript import projects

    with open_store(store) as opened, opened.write(project=projects.find(opened, project).id) as tx:
        if amount is not None:
            guards.set_budget(tx, amount)
        money = guards.money(tx, tx.clock())
    if as_json:
        print_json(_money_json(money))
        return
    print(_money(money))
    for kind, micros in sorted(money.by_kind.items()):
        print(f"  {kind:<20} {micros / _MILLION:.4f}")


@contextmanager
def _asked_to_end() -> Iterator[threading.Event]:
    """Set by Ctrl-C, and by whoever asks this process to end."""
    told = threading.Event()
    before = {name: signal.signal(name, lambda *_: told.set()) for name in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield told
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


def _states(wanted: list[str] | None) -> tuple[State, ...]:
    from fabula.jobs.model import State

    strange = [name for name in wanted or () if name not in list(State)]
    if strange:
        raise FabulaError(Code.JOB_INVALID, f"{strange[0]!r} is no state of a job. There are: {', '.join(State)}.")
    return tuple(State(name) for name in wanted) if wanted else tuple(State)


def _chosen(key: str | None, everything: bool, found: list[str], option: str) -> list[str]:
    if (key is None) == (not everything):
        raise FabulaError(Code.JOB_INVALID, f"Name one job, or say {option}. Nothing was changed.")
    return found if key is None else [key]


def _counted(store: Store) -> Counter[str]:
    """How many jobs of all projects stand how."""
    from fabula.jobs import queue as service

    found: Counter[str] = Counter()
    for project in store.project_ids():
        with store.read(project=project) as reading:
            found.update(service.counted(reading))
    return found


def _show(listed: list[Card], broken: list[Breaker]) -> None:
    for breaker in broken:
        if breaker.open_until:
            print(
                f"! {breaker.kind} failed {breaker.failures} times in a row ({breaker.why}) "
                f"and waits until {_time(breaker.open_until)}."
            )
    for one in listed:
        took = "" if one.seconds is None else f"{one.seconds:.1f} s"
        cost = f"{one.micros / _MILLION:.4f}" if one.micros else ""
        print(plain(f"{one.state:<10} {one.key:<40} {took:>9} {cost:>8} {_told(one)}").rstrip())


def _told(one: Card) -> str:
    """What else there is to say of a job."""
    said = [f"due {_time(one.due)}"] if one.state == "queued" else []
    if one.tries > 1:
        said.append(f"try {one.tries}")
    if one.stopping:
        said.append("is to stop")
    if one.again:
        said.append("runs once more")
    if one.why:
        said.append(f"{one.why}: {one.note}" if one.note else one.why)
    return ", ".join(said)


def _time(time: str) -> str:
    """A time as people read it, in UTC like everything in the store."""
    return f"{time[:10]} {time[11:19]}"


def _money(money: Money) -> str:
    return f"{money.spent / _MILLION:.2f} of {money.budget / _MILLION:.2f} spent in {money.month}"


def _many(keys: list[str]) -> str:
    return f"{len(keys)} job{'' if len(keys) == 1 else 's'}"


def _project_json(project: str, listed: list[Card], broken: list[Breaker], money: Money) -> dict[str, object]:
    return {
        "projectId": project,
        "jobs": [_card_json(one) for one in listed],
        "breakers": [
            {"kind": one.kind, "failures": one.failures, "openUntil": one.open_until or None, "why": one.why}
            for one in broken
        ],
        "money": _money_json(money),
    }


def _card_json(one: Card) -> dict[str, object]:
    return {
        "key": one.key,
        "kind": one.kind,
        "state": one.state.value,
        "why": one.why or None,
        "note": one.note or None,
        "queued": one.queued,
        "due": one.due,
        "started": one.started or None,
        "ended": one.ended or None,
        "seconds": one.seconds,
        "tries": one.tries,
        "micros": one.micros,
        "again": one.again,
        "stopping": one.stopping,
    }


def _money_json(money: Money) -> dict[str, object]:
    return {
        "month": money.month,
        "budgetMicros": money.budget,
        "spentMicros": money.spent,
        "byKind": dict(money.by_kind),
    }
