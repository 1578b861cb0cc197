"""`fabula jobs`: work done in the background; list it, run it, try it again, cancel it, and say what it may cost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from fabula.cli.commands import CommandGroup
from fabula.cli.opening import open_project, open_workspace
from fabula.cli.options import IDS, JSON, PROJECT, STORE
from fabula.cli.output import format_time, print_json, render, say, use_project_language
from fabula.cli.progress import show_progress
from fabula.cli.tables import Column, print_table
from fabula.cli.value_names import name_value
from fabula.core.messages import Sentence, join_names, message, plural
from fabula.jobs.model import JobState

if TYPE_CHECKING:
    from fabula.jobs.model import JobSummary, MonthlySpending
    from fabula.workspace.jobs import ProjectJobs

JOB = Annotated[str | None, Argument(help="A job, by its number, its chapter or its key.")]
_MILLION = 1_000_000

commands = CommandGroup("jobs", help="Work that is done in the background.")


@commands.command("list")
def list_jobs(
    project: Annotated[str | None, Argument(help="A project of the store; all of them if left out.")] = None,
    state: Annotated[list[str] | None, Option("--state", help="queued, running, done, failed or cancelled.")] = None,
    limit: Annotated[int, Option("--most", help="How many of each project.", min=1)] = 100,
    with_ids: IDS = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """List jobs, the kinds that wait because they keep failing, and what was spent this month.

    Example: fabula jobs list "The Lantern Coast" --state failed
    """
    with open_workspace(store, runs_jobs=False) as workspace:
        found = workspace.list_jobs(project, states=state or (), limit=limit)
    if project is not None:
        use_project_language(found[0].project.language)
    if as_json:
        from fabula.workspace.schemas.jobs import describe_project_jobs

        print_json([describe_project_jobs(one) for one in found])
        return
    for one in found:
        if one.jobs or one.breakers or project is not None:
            say("{title}: {spending}", title=one.project.title, spending=_spending(one.spending))
            _show(one, with_ids)
    if not any(one.jobs for one in found):
        say("No jobs.")


@commands.command()
def run(
    keep: Annotated[bool, Option("--keep", help="Go on until Ctrl-C, and do what is queued meanwhile.")] = False,
    threads: Annotated[int, Option("--threads", help="How many at once.", min=1, max=32)] = 2,
    store: STORE = None,
) -> None:
    """Do what is due, of all projects of the store.

    Example: fabula jobs run
    """
    with open_workspace(store, runs_jobs=False) as workspace:
        if keep:
            with _stop_signal() as stop:
                counts = workspace.run_jobs(threads=threads, until=stop)
        else:
            with show_progress(message("Doing what is due")) as progress:
                counts = workspace.run_jobs(threads=threads, progress=progress)
    states = [state for state in counts if counts[state]]
    done = [message("{count} {state}", count=counts[state], state=name_value(state)) for state in states]
    say(join_names(done) if done else message("No jobs."))
    if JobState.FAILED in states:
        say("Why jobs failed: fabula jobs list --state failed")


@commands.command()
def retry(
    project: PROJECT,
    job: JOB = None,
    failed: Annotated[bool, Option("--failed", help="All that failed.")] = False,
    store: STORE = None,
) -> None:
    """Run a job again, or at once if it waits.

    Example: fabula jobs retry "The Lantern Coast" --failed
    """
    with open_project(project, store, runs_jobs=False) as opened:
        keys = opened.jobs.retry(job, failed=failed)
    queued = plural(len(keys), "{count} job queued.", "{count} jobs queued.")
    say("{queued} Run what is queued: fabula jobs run", queued=queued)


@commands.command()
def cancel(
    project: PROJECT,
    job: JOB = None,
    everything: Annotated[bool, Option("--all", help="All that wait or run.")] = False,
    store: STORE = None,
) -> None:
    """Cancel a job; one that is running stops a little later.

    Example: fabula jobs cancel "The Lantern Coast" --all
    """
    with open_project(project, store, runs_jobs=False) as opened:
        states = opened.jobs.cancel(job, unfinished=everything)
    say(plural(len(states), "{count} job cancelled.", "{count} jobs cancelled."))
    if "running" in states.values():
        say("What is still running will stop soon.")


@commands.command()
def budget(
    project: PROJECT,
    amount: Annotated[float | None, Argument(help="What jobs may cost a month, in dollars.")] = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Show what background work cost this month, or set what it may cost a month in each of your projects.

    Example: fabula jobs budget "The Lantern Coast" 2.50
    """
    with open_project(project, store, runs_jobs=False) as opened:
        spending = opened.jobs.read_spending() if amount is None else opened.jobs.set_monthly_budget(amount)
    if as_json:
        from fabula.workspace.schemas.jobs import describe_spending

        print_json(describe_spending(spending))
        return
    say(_spending(spending))
    columns: list[Column[tuple[str, int]]] = [
        Column(message("kind"), lambda one: name_value(one[0])),
        Column(message("cost"), lambda one: f"{one[1] / _MILLION:.4f}", right=True),
    ]
    if spending.by_kind:
        print_table(sorted(spending.by_kind.items()), columns)


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


def _show(found: ProjectJobs, with_ids: bool) -> None:
    for breaker in found.breakers:
        if breaker.open_until:
            say(
                "! {kind} failed {times} in a row ({reason}) and waits until {time}.",
                kind=name_value(breaker.kind),
                times=plural(breaker.failures, "{count} time", "{count} times"),
                reason=breaker.reason,
                time=format_time(breaker.open_until),
            )
    columns: list[Column[JobSummary]] = [
        Column(message("no."), lambda job: found.numbers.get(job.key), right=True, style="grey58"),
        Column(message("state"), lambda job: name_value(job.state), style="bold"),
        Column(message("kind"), lambda job: name_value(job.kind)),
        Column(message("about"), lambda job: found.titles.get(job.key, ""), wraps=True),
        Column(message("took"), _describe_duration, right=True),
        Column(message("cost"), lambda job: f"{job.cost_micros / _MILLION:.4f}" if job.cost_micros else "", right=True),
        Column(message("remarks"), _remarks, wraps=True),
    ]
    if with_ids:
        columns.insert(1, Column(message("key"), lambda job: job.key, style="grey58"))
    if found.jobs:
        print_table(found.jobs, columns)


def _describe_duration(job: JobSummary) -> Sentence | str:
    return "" if job.seconds is None else message("{seconds:.1f} s", seconds=job.seconds)


def _remarks(job: JobSummary) -> Sentence:
    remarks: list[Sentence | str] = []
    if job.state == "queued":
        remarks.append(message("due {time}", time=format_time(job.due_at)))
    if job.tries > 1:
        remarks.append(message("try {number}", number=job.tries))
    if job.is_stopping:
        remarks.append(message("will stop"))
    if job.runs_again:
        remarks.append(message("runs once more"))
    if job.reason:
        remarks.append(f"{job.reason}: {render(job.note)}" if job.note else job.reason)
    return join_names(remarks)


def _spending(spending: MonthlySpending) -> Sentence:
    return message(
        "{spent:.2f} of {budget:.2f} spent in {month}",
        spent=spending.spent / _MILLION,
        budget=spending.budget / _MILLION,
        month=spending.month,
    )
