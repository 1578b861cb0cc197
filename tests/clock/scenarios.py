"""What a child process does while its clock is set: python -m tests.clock.scenarios NAME FOLDER

Each scenario is run with a clock a year ahead, a year back, and jumping. It sets the clock to one day after the other,
and asserts that nothing made on the way is lost.
"""

from __future__ import annotations

from tests.clock.wrong_clock import set_clock  # isort: skip  # first: it patches the clock

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fabula.conversation.recaps.editing import list_recaps
from fabula.core.errors import Code
from fabula.core.ids import current_timestamp
from fabula.jobs import guards, leases, maintenance
from fabula.jobs.cancellation import CancellationToken
from fabula.jobs.model import Job, JobKind, JobOutcome, JobState, Lease
from fabula.jobs.worker import Worker
from fabula.llm.runs import GenerationRun, list_runs, record_run
from fabula.manuscript import documents, projects, revisions
from fabula.store.backup import MAX_BACKUPS, back_up, back_up_daily, list_backups
from fabula.store.save.loading import load_save
from fabula.store.save.saving import save_project
from fabula.store.store import Store
from fabula.workspace.deleted_projects import delete_project, list_deleted
from fabula.workspace.rename.rename import apply_rename, undo_rename
from tests.conversation.recap_fixtures import (
    CONVERSATION,
    FakeWriter,
    P,
    add_rounds,
    create_conversation,
    name_rounds,
    refresh,
)
from tests.jobs.fake_jobs import KIND, PROJECT, create_project, enqueue_job, load_job, make_kind, wait_until

MINUTE = 1 / 1440  # of a day
LEASE = 3.0  # seconds


def keep_backups(folder: Path, days: Sequence[float]) -> None:
    """The copy just made is there, however many others claim to be newer, and one a day is made."""
    store = Store.open(folder)
    projects.create(store, "Book", project_id="p")
    save_project(store, "p", folder / "book.fabula")
    assert store.file is not None
    for day in days:
        set_clock(day)
        for _ in range(MAX_BACKUPS + 1):
            copy = back_up(store.file, reason="before-upgrade")
            assert copy.exists()
            assert list_backups(store.file)[-1] == copy
            assert len(list_backups(store.file)) <= MAX_BACKUPS
            replaced = load_save(store, folder / "book.fabula", project_id="p", replace=True).backup
            assert replaced is not None
            assert replaced.exists()
        set_clock(day + 1.5)
        daily = back_up_daily(store.file)
        assert daily is not None
        assert daily.exists()
        assert back_up_daily(store.file) is None
        projects.create(store, "Gone", project_id=f"gone{day}")
        deleted = delete_project(store, f"gone{day}")
        assert list_deleted(store)[0].path == deleted.path
    assert len(list_deleted(store)) == len(days), "no deleted project was lost to the clock"
    store.close()


def keep_revisions(folder: Path, days: Sequence[float]) -> None:
    """Every typed text that was ten minutes old is kept, and the order is that of the revisions."""
    store = Store.open(folder)
    projects.create(store, "Book", project_id="p")
    with store.write(project="p") as tx:
        documents.add(tx, "One", text="Words.", document_id="one")
    count = 0
    for day in days:
        for number in range(20):
            set_clock(day + 11 * number * MINUTE)
            with store.write(project="p") as tx:
                documents.write(tx, "one", f"Words of day {day}, number {number}.")
            count += 1
    with store.read(project="p") as reading:
        kept = revisions.list_revisions(reading, "one")
    assert len(kept) == count, (len(kept), count)
    assert [one.revision for one in kept] == sorted((one.revision for one in kept), reverse=True)
    store.close()


def run_jobs(folder: Path, days: Sequence[float]) -> None:
    """A job that failed or was taken under a wrong clock is soon tried again, and its result is stored once."""
    store, kind = Store.open(folder), make_kind()
    kinds = {KIND: kind}
    create_project(store)
    for number, day in enumerate(days):
        set_clock(day)
        key = f"note:{number}"
        enqueue_job(store, key)
        lease = leases.take_job(store, kinds, seconds=30)
        assert lease is not None
        assert lease.key == key
        with store.write(project=PROJECT) as tx:
            assert leases.fail_job(tx, lease, kind, Code.LLM_GONE) is JobState.QUEUED
        set_clock(0)
        maintenance.fix_future_times(store, seconds=30)
        taken = _take_within(store, kinds, minutes=30)
        assert taken.key == key
        assert leases.renew_lease(store, taken)
        set_clock(day)
        maintenance.fix_future_times(store, seconds=30)
        with store.write(project=PROJECT) as tx:
            leases.finish_job(tx, taken)
        assert load_job(store, key).state is JobState.DONE
    store.close()


def pay_once(folder: Path, days: Sequence[float]) -> None:
    """A model is asked once, though the clock jumps past the end of the lease while a second worker looks on."""
    paid: list[str] = []

    def handler(job: Job, token: CancellationToken) -> JobOutcome:
        token.confirm_lease()
        paid.append(job.key)
        for day in days:
            set_clock(day)
            token.wait(LEASE / 2)
        return JobOutcome(cost_micros=10)

    kinds = {KIND: make_kind(handler, timeout=60.0)}
    store, other = Store.open(folder), Store.open(folder)
    create_project(store)
    enqueue_job(store)
    with (
        Worker(store, kinds, threads=1, lease_seconds=LEASE, poll_seconds=0.05),
        Worker(other, kinds, threads=1, lease_seconds=LEASE, poll_seconds=0.05),
    ):
        wait_until(lambda: load_job(store).state is JobState.DONE, seconds=60)
    assert (paid, load_job(store).tries, load_job(store).cost_micros) == (["note:1"], 1, 10)
    other.close()
    store.close()


def _take_within(store: Store, kinds: Mapping[str, JobKind], *, minutes: int) -> Lease:
    for minute in range(minutes):
        set_clock(minute * MINUTE)
        lease = leases.take_job(store, kinds, seconds=30)
        if lease is not None:
            return lease
    raise AssertionError("the job still waits for the wrong time")


def keep_budget(folder: Path, days: Sequence[float]) -> None:
    """What was spent this month is known again when the clock is right, whatever happened in between."""
    store, kind = Store.open(folder), make_kind(costs_money=True)
    create_project(store)
    set_clock(0)
    with store.write(project=PROJECT) as tx:
        guards.book_cost(tx, KIND, 400_000, tx.current_time())
    for number, day in enumerate(days):
        set_clock(day)
        enqueue_job(store, f"note:{number}")
        with store.write(project=PROJECT) as tx:
            guards.read_spending(tx, tx.current_time(), 300_000)
            hold = guards.find_hold(tx, KIND, kind, tx.current_time(), 30.0, 0)
            assert hold is not None
            assert hold.reason is Code.JOB_BUDGET
    set_clock(0)
    with store.read(project=PROJECT) as reading:
        assert guards.read_spending(reading, reading.current_time(), 300_000).spent == 400_000
    _spend_all_over(store, days)
    store.close()


def _spend_all_over(store: Store, days: Sequence[float]) -> None:
    """Money that was spent while the clock was ahead counts when it is back: a jump opens no second budget."""
    budget, spent = 1_000_000, 400_000
    for day in sorted(days, reverse=True):
        set_clock(day)
        with store.write(project=PROJECT) as tx:
            remaining = guards.read_spending(tx, tx.current_time(), budget).remaining
            guards.book_cost(tx, KIND, max(remaining, 0), tx.current_time())
            spent += max(remaining, 0)
            assert guards.read_spending(tx, tx.current_time(), budget).remaining <= 0
    set_clock(0)
    assert spent <= 400_000 + budget
    with store.read(project=PROJECT) as reading:
        ahead = guards.read_spending(reading, reading.current_time(), budget)
        assert ahead.remaining <= 0 or max(days) <= 0


def order_work(folder: Path, days: Sequence[float]) -> None:
    """The newest run and the newest rename are those made last, whatever the clock said then."""
    store = Store.open(folder)
    projects.create(store, "Book", project_id="p")
    with store.write(project="p") as tx:
        documents.add(tx, "1", text="Name0 came.", document_id="d")
    names = ["Name0"]
    for number, day in enumerate(days, start=1):
        set_clock(day)
        names.append(f"Name{number}")
        with store.write(project="p") as tx:
            run = record_run(tx, GenerationRun(model="m", answer=str(number)))
            apply_rename(tx, names[-2], names[-1])
            assert [one.id for one in list_runs(tx, limit=1)] == [run]
    while len(names) > 1:
        with store.write(project="p") as tx:
            assert undo_rename(tx).new == names.pop()
    store.close()


def keep_recaps(folder: Path, days: Sequence[float]) -> None:
    """Recaps follow the order of the rounds, and all of them can be written anew."""
    store = Store.open(folder)
    create_conversation(store)
    for number, day in enumerate(days):
        set_clock(day)
        add_rounds(store, *name_rounds(4 * number + 1, 4 * number + 4))
        assert refresh(store).entries, "what became due was written"
    with store.read(project=P) as reading:
        entries = list_recaps(reading, CONVERSATION)
    for kind in ("summary", "recap"):
        rounds = [entry.rounds for entry in entries if entry.kind == kind]
        assert rounds == sorted(rounds), (kind, rounds)
    set_clock(0)
    writer, moment, anew, has_more = FakeWriter(), current_timestamp(), set[str](), True
    while has_more:
        done = refresh(store, writer, rebuild_before=moment)
        anew, has_more = anew | {entry.id for entry in done.entries}, done.has_more
    assert {entry.id for entry in entries if entry.kind == "summary"} <= anew
    calls = len(writer.inputs)
    refresh(store, writer)
    assert len(writer.inputs) == calls, "nothing is written twice"
    store.close()


SCENARIOS: dict[str, Callable[[Path, Sequence[float]], None]] = {
    "backups": keep_backups,
    "revisions": keep_revisions,
    "leases": run_jobs,
    "payments": pay_once,
    "budgets": keep_budget,
    "order": order_work,
    "recaps": keep_recaps,
}


RUNS = {"ahead": (0, 365, 0), "back": (0, -365, 0), "jumping": (365, 0, -365, 30, -1, 400)}  # in days


if __name__ == "__main__":
    for name, days in RUNS.items():
        set_clock(0)
        SCENARIOS[sys.argv[1]](Path(sys.argv[2]) / name, days)
