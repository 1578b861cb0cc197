"""What a person can do with background jobs: list, retry and cancel them, and limit what they cost."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from fabula.conversation.tables import conversations
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, join_names, message
from fabula.jobs import guards, queue
from fabula.jobs.model import CircuitBreaker, JobState, JobSummary, MonthlySpending
from fabula.jobs.triggers.documents import INDEX_JOB, SYNOPSIS_JOB
from fabula.manuscript.projects import ProjectSummary
from fabula.manuscript.tables import documents
from fabula.store.store import Store
from fabula.store.transaction import ReadTransaction
from fabula.text.lookup import LISTED, find_by_name
from fabula.workspace.verbs import ProjectVerbs

if TYPE_CHECKING:
    from fabula.workspace.views import ProjectViews


class ProjectJobs(Struct, frozen=True, kw_only=True):
    """The jobs of one project, the kinds that keep failing, and the costs of the month."""

    project: ProjectSummary
    jobs: list[JobSummary]
    numbers: Mapping[str, int]  # by key: those that a job can be named by
    titles: Mapping[str, str]  # by key: the chapter or conversation that a job is about, where it has a title
    breakers: list[CircuitBreaker]
    spending: MonthlySpending


class JobsLeft(Struct, frozen=True, kw_only=True):
    """How many jobs are left: those that can be done, and those that need a model where none works."""

    ready: int = 0
    without_model: int = 0


class JobVerbs(ProjectVerbs):
    """The background jobs of an open project."""

    def retry(self, key: str | None = None, *, failed: bool = False) -> list[str]:
        """Run a job again or at once, or all that failed; return their keys."""
        with self._write() as tx:
            keys = _choose(tx, key, failed, (JobState.FAILED,))
            for chosen in keys:
                queue.retry_job(tx, chosen)
        return keys

    def cancel(self, key: str | None = None, *, unfinished: bool = False) -> dict[str, JobState]:
        """Cancel a job, or all that wait or run; return their states by key: a running one stops a little later."""
        with self._write() as tx:
            keys = _choose(tx, key, unfinished, (JobState.QUEUED, JobState.RUNNING))
            return {chosen: queue.cancel_job(tx, chosen) for chosen in keys}

    def read_spending(self) -> MonthlySpending:
        """Return what the jobs of this project cost this month, and what they may cost."""
        budget = guards.read_monthly_budget(self._store, self._project.principal.user)
        with self._read() as reading:
            return guards.read_spending(reading, reading.current_time(), budget)

    def set_monthly_budget(self, amount: float) -> MonthlySpending:
        """Set what the jobs of each of the person's projects may cost a month, in dollars."""
        with self._store.write(user=self._project.principal.user) as tx:
            guards.set_monthly_budget(tx, amount)
        return self.read_spending()


def list_project_jobs(
    store: Store, found: Sequence[ProjectSummary], *, states: Sequence[str] = (), limit: int
) -> list[ProjectJobs]:
    """List the jobs of projects; `limit` counts for each of them."""
    chosen, budget = _read_states(states), guards.read_monthly_budget(store)
    answer = []
    for summary in found:
        with store.read(project=summary.id) as reading:
            every = queue.list_jobs(reading)
            answer.append(
                ProjectJobs(
                    project=summary,
                    numbers={job.key: number for number, job in enumerate(every, start=1)},
                    titles=_read_titles(reading, every),
                    jobs=queue.list_jobs(reading, states=chosen, limit=limit),
                    breakers=guards.list_breakers(reading),
                    spending=guards.read_spending(reading, reading.current_time(), budget),
                )
            )
    return answer


def run_short_jobs(
    views: ProjectViews,
    queued: Collection[tuple[str, str]],
    *,
    seconds: float,
    progress: Callable[[int, int], None] | None = None,
) -> JobsLeft:
    """Run those of some queued jobs at once that ask no model, for some seconds; return how many are left."""
    from fabula.jobs.worker import Worker
    from fabula.workspace.handlers.job_kinds import job_kinds
    from fabula.workspace.writing_options import choose_background_model

    every = job_kinds(views)
    costly = {name for name, kind in every.items() if kind.costs_money}
    store, kinds = views.store, {name: every[name] for name in (SYNOPSIS_JOB, INDEX_JOB)}
    keys: dict[str, list[str]] = {}
    has_model: dict[str, bool] = {}
    for project_id, key in queued:
        keys.setdefault(project_id, []).append(key)
    chosen = 0
    for project_id, wanted in keys.items():
        has_model[project_id] = choose_background_model(store, project_id) is not None
        short = [name for name in kinds if name == INDEX_JOB or not has_model[project_id]]
        with store.write(project=project_id) as tx:
            chosen += queue.make_due(tx, wanted, short)
    if chosen:
        worker = Worker(store, kinds, threads=1)
        worker.drain(seconds=seconds, progress=None if progress is None else lambda done: progress(done, chosen))
    ready = without_model = 0
    for project_id, wanted in keys.items():
        with store.read(project=project_id) as reading:
            left = [job for job in queue.list_jobs(reading, states=(JobState.QUEUED,)) if job.key in wanted]
        waiting = [job for job in left if job.kind in costly and not has_model[project_id]]
        without_model += len(waiting)
        ready += len(left) - len(waiting)
    return JobsLeft(ready=ready, without_model=without_model)


def _read_states(names: Sequence[str]) -> tuple[JobState, ...]:
    unknown = [name for name in names if name not in list(JobState)]
    if unknown:
        known = join_names(list(JobState))
        raise FabulaError(
            Code.JOB_INVALID,
            message("{name!r} is no state of a job. There are: {known}.", name=unknown[0], known=known),
        )
    return tuple(JobState(name) for name in names) or tuple(JobState)


def _choose(tx: ReadTransaction, name: str | None, everything: bool, states: tuple[JobState, ...]) -> list[str]:
    """Return the keys of the job that a spelling means, or of all jobs in some states."""
    if (name is None) == (not everything):
        raise FabulaError(Code.JOB_INVALID, message("Name either one job, or all of them. Nothing was changed."))
    if name is None:
        return [job.key for job in queue.list_jobs(tx, states=states)]
    found = queue.list_jobs(tx)
    titles = _read_titles(tx, found)
    numbers = {job.key: number for number, job in enumerate(found, start=1)}

    def label(job: JobSummary) -> Sentence:
        subject = titles.get(job.key, Sentence(job.kind))
        return message("{name} (number {number})", name=subject, number=numbers[job.key])

    return [
        find_by_name(
            found,
            name,
            what=message("job"),
            id_of=lambda job: job.key,
            names_of=lambda job: (titles[job.key],) if job.key in titles else (),
            remark_of=lambda job: Sentence(job.kind),
            label_of=label if len(found) <= LISTED else None,
            code=Code.JOB_NOT_FOUND,
        ).key
    ]


def _read_titles(reading: ReadTransaction, found: Sequence[JobSummary]) -> dict[str, str]:
    """Return the titles of the chapters and conversations that jobs are about, by the key of the job."""
    titles = {row.id: row.title for row in reading.rows(documents, only=("id", "title")) if row.title}
    titles |= {row.id: row.title for row in reading.rows(conversations, only=("id", "title")) if row.title}
    subjects = {job.key: job.key.partition(":")[2].removesuffix(":anew") for job in found}
    names = {key: subject if subject in titles else subject.partition(":")[0] for key, subject in subjects.items()}
    return {key: titles[name] for key, name in names.items() if name in titles}
