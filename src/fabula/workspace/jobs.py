"""What a person can do with background jobs: list, retry and cancel them, and limit what they cost."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import join_names, message
from fabula.jobs import guards, queue
from fabula.jobs.model import CircuitBreaker, JobState, JobSummary, MonthlySpending
from fabula.manuscript.projects import ProjectSummary
from fabula.store.store import Store
from fabula.workspace.verbs import ProjectVerbs


class ProjectJobs(Struct, frozen=True, kw_only=True):
    """The jobs of one project, the kinds that keep failing, and the costs of the month."""

    project: ProjectSummary
    jobs: list[JobSummary]
    breakers: list[CircuitBreaker]
    spending: MonthlySpending


class JobVerbs(ProjectVerbs):
    """The background jobs of an open project."""

    def retry(self, key: str | None = None, *, failed: bool = False) -> list[str]:
        """Run a job again or at once, or all that failed; return their keys."""
        with self._write() as tx:
            keys = _choose(key, failed, queue.list_jobs(tx, states=(JobState.FAILED,)))
            for chosen in keys:
                queue.retry_job(tx, chosen)
        return keys

    def cancel(self, key: str | None = None, *, unfinished: bool = False) -> dict[str, JobState]:
        """Cancel a job, or all that wait or run; return their states by key: a running one stops a little later."""
        with self._write() as tx:
            keys = _choose(key, unfinished, queue.list_jobs(tx, states=(JobState.QUEUED, JobState.RUNNING)))
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
            answer.append(
                ProjectJobs(
                    project=summary,
                    jobs=queue.list_jobs(reading, states=chosen, limit=limit),
                    breakers=guards.list_breakers(reading),
                    spending=guards.read_spending(reading, reading.current_time(), budget),
                )
            )
    return answer


def _read_states(names: Sequence[str]) -> tuple[JobState, ...]:
    unknown = [name for name in names if name not in list(JobState)]
    if unknown:
        known = join_names(list(JobState))
        raise FabulaError(
            Code.JOB_INVALID,
            message("{name!r} is no state of a job. There are: {known}.", name=unknown[0], known=known),
        )
    return tuple(JobState(name) for name in names) or tuple(JobState)


def _choose(key: str | None, everything: bool, found: list[JobSummary]) -> list[str]:
    if (key is None) == (not everything):
        raise FabulaError(Code.JOB_INVALID, message("Name either one job, or all of them. Nothing was changed."))
    return [job.key for job in found] if key is None else [key]
