"""`fabula jobs`: work done in the background; list it, run it, try it again, cancel it, and say what it may cost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.cli.opening import open_project, open_workspace, print_json, printable
from fabula.cli.projects import JSON, PROJECT, STORE

if TYPE_CHECKING:
    from fabula.jobs.model import JobSummary, MonthlySpending
    from fabula.workspace.jobs import ProjectJobs

KEY = Annotated[str | None, typer.Argument(help="A job, by its key.")]
_MILLION = 1_000_000


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    jobs = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Work that is done in the background.")
    jobs.command(name="list")(list_jobs)
    jobs.command()(run)
    jobs.command()(retry)
    jobs.command()(cancel)
    jobs.command()(budget)
    app.add_typer(jobs, name="jobs")


def list_jobs(
    project: Annotated[str | None, typer.Argument(help="A project of the store; all of them if left out.")] = None,
    state: Annotated[
        list[str] | None, typer.Option("--state", help="queued, running, done, failed or cancelled.")
    ] = None,
    limit: Annotated[int, typer.Option("--most", help="How many of each project.", min=1)] = 100,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """List jobs, the kinds that wait because they keep failing, and what was spent this month.

    Example: fabula jobs list "The Lantern Coast" --state failed
    """
    with open_workspace(store) as workspace:
        found = workspace.list_jobs(project, states=state or (), limit=limit)
    if as_json:
        from fabula.workspace.schemas.jobs import describe_project_jobs

        print_json([describe_project_jobs(one) for one in found])
        return
    for one in found:
        if one.jobs or one.breakers or project is not None:
            print(f"{one.project.title} ({one.project.id}): {_spending(one.spending)}")
            _show(one)
    if not any(one.jobs for one in found):
        print("No jobs.")


def run(
    keep: Annotated[bool, typer.Option("--keep", help="Go on until Ctrl-C, and do what is queued meanwhile.")] = False,
    threads: Annotated[int, typer.Option("--threads", help="How many at once.", min=1, max=32)] = 2,
    store: STORE = None,
) -> None:
    """Do what is due, of all projects of the store.

    Example: fabula jobs run
    """
    with open_workspace(store) as workspace:
        if keep:
            with _stop_signal() as stop:
                counts = workspace.run_jobs(threads=threads, until=stop)
        else:
            counts = workspace.run_jobs(threads=threads)
    print(", ".join(f"{count} {state}" for state, count in counts.items() if count) or "No jobs.")


def retry(
    project: PROJECT,
    key: KEY = None,
    failed: Annotated[bool, typer.Option("--failed", help="All that failed.")] = False,
    store: STORE = None,
) -> None:
    """Run a job again, or at once if it waits.

    Example: fabula jobs retry "The Lantern Coast" --failed
    """
    with open_project(project, store) as opened:
        keys = opened.jobs.retry(key, failed=failed)
    print(f"{_count(keys)} queued. Do them now: fabula jobs run")


def cancel(
    project: PROJECT,
    key: KEY = None,
    everything: Annotated[bool, typer.Option("--all", help="All that wait or run.")] = False,
    store: STORE = None,
) -> None:
    """Cancel a job; one that is running stops a little later.

    Example: fabula jobs cancel "The Lantern Coast" --all
    """
    with open_project(project, store) as opened:
        states = opened.jobs.cancel(key, unfinished=everything)
    running = sum(state == "running" for state in states.values())
    print(f"{_count(list(states))} cancelled" + (f"; {running} still running will stop soon." if running else "."))


def budget(
    project: PROJECT,
    amount: Annotated[float | None, typer.Argument(help="What jobs may cost a month, in dollars.")] = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Show what background work cost this month, or set what it may cost a month in each of your projects.

    Example: fabula jobs budget "The Lantern Coast" 2.50
    """
    with open_project(project, store) as opened:
        spending = opened.jobs.read_spending() if amount is None else opened.jobs.set_monthly_budget(amount)
    if as_json:
        from fabula.workspace.schemas.jobs import describe_spending

        print_json(describe_spending(spending))
        return
    print(_spending(spending))
    for kind, micros in sorted(spending.by_kind.items()):
        print(f"  {kind:<20} {micros / _MILLION:.4f}")


@contextmanager
def _stop_signal() -> Iterator[threading.Event]:
    """Return an event that Ctrl-C sets, or whoever asks this process to end."""
    stop = threading.Event()
    before = {name: signal.signal(name, lambda *_: stop.set()) for name in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


def _show(found: ProjectJobs) -> None:
    for breaker in found.breakers:
        if breaker.open_until:
            print(
                f"! {breaker.kind} failed {breaker.failures} times in a row ({breaker.reason}) "
                f"and waits until {_time(breaker.open_until)}."
            )
    for job in found.jobs:
        seconds = "" if job.seconds is None else f"{job.seconds:.1f} s"
        cost = f"{job.cost_micros / _MILLION:.4f}" if job.cost_micros else ""
        print(printable(f"{job.state:<10} {job.key:<40} {seconds:>9} {cost:>8} {_remarks(job)}").rstrip())


def _remarks(job: JobSummary) -> str:
    remarks = [f"due {_time(job.due_at)}"] if job.state == "queued" else []
    if job.tries > 1:
        remarks.append(f"try {job.tries}")
    if job.is_stopping:
        remarks.append("will stop")
    if job.runs_again:
        remarks.append("runs once more")
    if job.reason:
        remarks.append(f"{job.reason}: {job.note}" if job.note else job.reason)
    return ", ".join(remarks)


def _time(time: str) -> str:
    """Return a time as people read it, in UTC like everything in the store."""
    return f"{time[:10]} {time[11:19]}"


def _spending(spending: MonthlySpending) -> str:
    return f"{spending.spent / _MILLION:.2f} of {spending.budget / _MILLION:.2f} spent in {spending.month}"


def _count(keys: Sequence[str]) -> str:
    return f"{len(keys)} job{'' if len(keys) == 1 else 's'}"
