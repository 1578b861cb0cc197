"""Times of the job queue: a save that enqueues a job, a poll without a due job, taking one of many jobs.

python -m benchmarks.jobs [--json]
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.figures import arguments, report, show, timed
from fabula.jobs import leases
from fabula.jobs.cancellation import CancellationToken
from fabula.jobs.model import Job, JobKind, JobOutcome
from fabula.jobs.tables import jobs
from fabula.jobs.triggers.documents import connect
from fabula.manuscript import documents, projects
from fabula.store.store import Store

PROJECT = "p"
LONG_AGO = "2001-01-01T00:00:00.000000Z"
WAITING = (10, 10_000, 100_000)
SAVES = 400


def do_nothing(job: Job, stop: CancellationToken) -> JobOutcome:
    """A handler that does nothing."""
    return JobOutcome()


KINDS = {"note": JobKind(handler=do_nothing), "synopsis": JobKind(handler=do_nothing)}


def save_paragraph(store: Store, number: int) -> None:
    """Save a changed paragraph."""
    with store.write(project=PROJECT) as tx:
        documents.write(tx, "chapter", "A paragraph of a chapter that is being written.\n" * (100 + number % 7))


def time_saves(folder: Path) -> tuple[float, float]:
    """The median times of a save without and with the trigger that enqueues a job."""
    stores = [Store.open(folder / name) for name in ("plain", "followed")]
    connect(stores[1])
    for store in stores:
        projects.create(store, "Saved often", project_id=PROJECT)
        with store.write(project=PROJECT) as tx:
            documents.add(tx, "Chapter", document_id="chapter")
    found: list[list[float]] = [[], []]
    for number in range(SAVES):
        for place, store in enumerate(stores):
            found[place] += timed([partial(save_paragraph, store, number)])
    for store in stores:
        store.close()
    return median(found[0]), median(found[1])


def time_taking(folder: Path, waiting: int) -> tuple[float, float]:
    """The median times to take a job, and to find that none is due, with many jobs waiting."""
    store = Store.open(folder / str(waiting))
    projects.create(store, "Much to do", project_id=PROJECT)
    rows = [{"key": f"note:{n}", "kind": "note", "queued": LONG_AGO, "due": LONG_AGO} for n in range(waiting)]
    with store.write(project=PROJECT) as tx:
        tx.insert(jobs, *rows)
    take = partial(leases.take_job, store, KINDS, seconds=600.0)
    taken = median(timed([take for _ in range(min(waiting, 200))]))
    with store.write(project=PROJECT) as tx:
        tx.update_rows(jobs, {"due": "2199-01-01T00:00:00.000000Z"}, jobs.c.state == "queued")
    looked = median(timed([take for _ in range(200)]))
    store.close()
    return taken, looked


def main() -> None:
    options = arguments(__doc__ or "", data=False).parse_args()
    with tempfile.TemporaryDirectory(prefix="fabula-jobs-") as folder:
        plain, followed = time_saves(Path(folder))
        found = {waiting: time_taking(Path(folder), waiting) for waiting in WAITING}
    show("a save, milliseconds", ("alone", "with its job", "more"), [(plain, followed, followed - plain)])
    rows = [(f"{waiting:,}", taken, looked) for waiting, (taken, looked) in found.items()]
    show("looking for work, milliseconds", ("waiting", "one is taken", "none is due"), rows)
    figures = {"save_ms": plain, "save_and_queue_ms": followed}
    for waiting, (taken, looked) in found.items():
        figures |= {f"take_of_{waiting}_ms": taken, f"look_at_{waiting}_ms": looked}
    report(figures, as_json=options.json)


if __name__ == "__main__":
    main()
