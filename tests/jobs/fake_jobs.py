"""What the tests of background work share: a project, ways to wait, and looks at what became of jobs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from msgspec.structs import replace

from fabula.core.errors import Code
from fabula.jobs import leases, maintenance
from fabula.jobs import queue as service
from fabula.jobs.cancellation import CancellationToken
from fabula.jobs.lease_watch import LeaseWatch
from fabula.jobs.model import Job, JobHandler, JobKind, JobOutcome, JobState, JobSummary, Lease
from fabula.jobs.tables import jobs
from fabula.manuscript import documents, projects
from fabula.manuscript.tables import documents as documents_table
from fabula.store.store import Store
from fabula.store.transaction import WriteTransaction

PROJECT = "p"
KIND = "note"
LONG_AGO = "2001-01-01T00:00:00.000000Z"
FAR_AHEAD = "2199-01-01T00:00:00.000000Z"


def create_project(store: Store, project: str = PROJECT) -> None:
    """A project to queue jobs in."""
    projects.create(store, "Background", project_id=project)


def enqueue_job(
    store: Store, key: str = "note:1", work: dict[str, object] | None = None, **wishes: float | str
) -> None:
    """Queue one job in a transaction of its own."""
    project, kind = str(wishes.pop("project", PROJECT)), str(wishes.pop("kind", KIND))
    with store.write(project=project) as tx:
        service.enqueue(tx, kind, key, work, **{name: float(value) for name, value in wishes.items()})


def load_job(store: Store, key: str = "note:1", project: str = PROJECT) -> JobSummary:
    """How a job stands."""
    with store.read(project=project) as reading:
        return service.get_job(reading, key)


def take_job(store: Store, kind: JobKind, *, seconds: float = 30.0, name: str = KIND) -> Lease:
    """A job that must be there to be taken."""
    lease = leases.take_job(store, {name: kind}, seconds=seconds)
    assert lease is not None
    return lease


def requeue_lost(store: Store, kinds: Mapping[str, JobKind], *, seconds: float) -> int:
    """Requeue jobs with an expired lease, by somebody who has watched them long enough."""
    return maintenance.requeue_lost(store, kinds, LeaseWatch(0.0), seconds=seconds)


def add_document_handler(job: Job, _: CancellationToken) -> JobOutcome:
    """A handler whose effect can be counted: a document named like the job."""
    return JobOutcome(write=lambda tx: add_document(tx, job.key))


def add_document(tx: WriteTransaction, key: str) -> None:
    """One more document of this name."""
    documents.add(tx, key)


def finish_job(store: Store, lease: Lease, name: str = "", cost: int = 0) -> None:
    """End a job well, and keep its result with it."""
    with store.write(project=lease.project_id) as tx:
        leases.finish_job(tx, lease, cost=cost)
        add_document(tx, name or lease.key)


def fail_job(store: Store, lease: Lease, kind: JobKind, reason: Code = Code.LLM_GONE, cost: int = 0) -> JobState:
    """End a job badly."""
    with store.write(project=lease.project_id) as tx:
        return leases.fail_job(tx, lease, kind, reason, "It broke.", cost=cost)


def list_documents(store: Store, project: str = PROJECT) -> list[str]:
    """The names of all documents, as often as there are."""
    with store.read(project=project) as reading:
        return sorted(row.title for row in reading.rows(documents_table))


def make_kind(handler: JobHandler = add_document_handler, **bounds: object) -> JobKind:
    """A kind that loses no time between tries, and whose breaker is far away."""
    return replace(JobKind(handler=handler, first_delay=0.0, breaker_threshold=1_000), **bounds)


def set_row(store: Store, key: str = "note:1", project: str = PROJECT, **values: object) -> None:
    """Change a job's row behind everybody's back, as a clock or a crash would."""
    with store.write(project=project) as tx:
        assert tx.update_rows(jobs, values, jobs.c.key == key)


def wait_until(true: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait until something is so."""
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it never came to that"
        with suppress(OSError):  # as libfaketime may answer at the moment of a jump
            time.sleep(0.01)
