"""What background work costs those in front: a save that queues, a look for work, taking one of very many.

python -m benchmarks.jobs [--json]
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.figures import arguments, report, show, timed
from fabula.jobs import leases
from fabula.jobs.cancellation import Stop
from fabula.jobs.model import Job, Kind, Outcome
from fabula.jobs.tables import jobs
from fabula.jobs.triggers.documents import follow
from fabula.manuscript import documents, projects
from fabula.store.store import Store

PROJECT = "p"
LONG_AGO = "2001-01-01T00:00:00.000000Z"
WAITING = (10, 10_000, 100_000)
SAVES = 400


def nothing(job: Job, stop: Stop) -> Outcome:
    """A job that is done at once."""
    return Outcome()


KINDS = {"note": Kind(handler=nothing), "synopsis": Kind(handler=nothing)}


def save(store: Store, number: int) -> None:
    """A paragraph more."""
    with store.write(project=PROJECT) as tx:
        documents.write(tx, "chapter", "A paragraph of a chapter that is being written.\n" * (100 + number % 7))


def saving(folder: Path) -> tuple[float, float]:
    """The usual time of a save without and with a job that follows from it, turn by turn."""
    stores = [Store.open(folder / name) for name in ("plain", "followed")]
    follow(stores[1])
    for store in stores:
        projects.create(store, "Saved often", project_id=PROJECT)
        with store.write(project=PROJECT) as tx:
            documents.add(tx, "Chapter", document_id="chapter")
    found: list[list[float]] = [[], []]
    for number in range(SAVES):
        for place, store in enumerate(stores):
            found[place] += timed([partial(save, store, number)])
    for store in stores:
        store.close()
    return median(found[0]), median(found[1])


def taking(folder: Path, waiting: int) -> tuple[float, float]:
    """The usual time to take a job and to find that none is due, with so many waiting."""
    store = Store.open(folder / str(waiting))
    projects.create(store, "Much to do", project_id=PROJECT)
    rows = [{"key": f"note:{n}", "kind": "note", "queued": LONG_AGO, "due": LONG_AGO} for n in range(waiting)]
    with store.write(project=PROJECT) as tx:
        tx.add(jobs, *rows)
    take = partial(leases.take, store, KINDS, seconds=600.0)
    taken = median(timed([take for _ in range(min(waiting, 200))]))
    with store.write(project=PROJECT) as tx:
        tx.change(jobs, {"due": "2199-01-01T00:00:00.000000Z"}, jobs.c.state == "queued")
    looked = median(timed([take for _ in range(200)]))
    store.close()
    return taken, looked


def main() -> None:
    options = arguments(__doc__ or "", data=False).parse_args()
    with tempfile.TemporaryDirectory(prefix="fabula-jobs-") as folder:
        plain, followed = saving(Path(folder))
        found = {waiting: taking(Path(folder), waiting) for waiting in WAITING}
    show("a save, milliseconds", ("alone", "with its job", "more"), [(plain, followed, followed - plain)])
    rows = [(f"{waiting:,}", taken, looked) for waiting, (taken, looked) in found.items()]
    show("looking for work, milliseconds", ("waiting", "one is taken", "none is due"), rows)
    figures = {"save_ms": plain, "save_and_queue_ms": followed}
    for waiting, (taken, looked) in found.items():
        figures |= {f"take_of_{waiting}_ms": taken, f"look_at_{waiting}_ms": looked}
    report(figures, as_json=options.json)


if __name__ == "__main__":
    main()
