"""The worker: runs what is due, survives its handlers, and stops when it is told to."""

from __future__ import annotations

import gc
import threading
import time
from functools import partial
from typing import Any
from weakref import ref

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.jobs import guards
from fabula.jobs import queue as service
from fabula.jobs.cancellation import CancellationToken
from fabula.jobs.model import Job, JobKind, JobOutcome, JobState
from fabula.jobs.worker import Worker
from fabula.manuscript import documents, projects
from fabula.store.store import Store
from tests.jobs.fake_jobs import (
    KIND,
    LONG_AGO,
    PROJECT,
    add_document_handler,
    create_project,
    enqueue_job,
    list_documents,
    load_job,
    make_kind,
    set_row,
    take_job,
    wait_until,
)

rubbish: Any = JobOutcome
SOON = 0.02  # seconds between looks, so that nobody waits for a test


def _drain(store: Store, kind: JobKind, **options: Any) -> None:
    Worker(store, {KIND: kind}, poll_seconds=SOON, **options).drain()


def test_what_is_due_is_done_and_what_is_not_stays(store: Store) -> None:
    create_project(store)
    for number in range(12):
        enqueue_job(store, f"note:{number}")
    enqueue_job(store, "note:later", due_in=500)
    enqueue_job(store, "other:1", kind="of.tomorrow")
    _drain(store, make_kind(), threads=3)
    assert list_documents(store) == sorted(f"note:{number}" for number in range(12))
    assert load_job(store, "note:later").state is load_job(store, "other:1").state is JobState.QUEUED


def test_a_job_that_has_ended_is_freed_at_once(store: Store) -> None:
    create_project(store)
    enqueue_job(store, "note:1")
    held: list[ref[CancellationToken]] = []

    def handle(job: Job, token: CancellationToken) -> JobOutcome:
        token.confirm_lease()
        held.append(ref(token))
        return add_document_handler(job, token)

    gc.disable()
    try:
        _drain(store, make_kind(handle))
        assert [one() for one in held] == [None]
    finally:
        gc.enable()


def test_jobs_that_are_queued_while_it_runs_are_taken_without_waiting_for_the_next_look(store: Store) -> None:
    create_project(store)
    with Worker(store, {KIND: make_kind()}, poll_seconds=3_600):
        enqueue_job(store, "note:1")
        wait_until(lambda: list_documents(store) == ["note:1"])
        enqueue_job(store, "note:2")
        wait_until(lambda: list_documents(store) == ["note:1", "note:2"])


def test_jobs_that_another_process_queues_are_found_by_looking(store: Store, address: str) -> None:
    create_project(store)
    other = Store.open(address)
    with Worker(store, {KIND: make_kind()}, poll_seconds=SOON):
        enqueue_job(other)
        wait_until(lambda: list_documents(store) == ["note:1"])
    other.close()


def test_a_job_may_queue_another_with_its_result(store: Store) -> None:
    create_project(store)

    def handler(job: Job, _: CancellationToken) -> JobOutcome:
        left = int(job.work["left"])

        def write(tx: Any) -> None:
            documents.add(tx, job.key)
            if left:
                service.enqueue(tx, KIND, f"note:{left - 1}", {"left": left - 1})

        return JobOutcome(write=write)

    enqueue_job(store, "note:3", {"left": 3})
    _drain(store, make_kind(handler))
    assert list_documents(store) == [f"note:{number}" for number in range(4)]


def test_nobody_who_saves_waits_for_a_job(store: Store) -> None:
    create_project(store)
    begun, go_on = threading.Event(), threading.Event()

    def handler(job: Job, _: CancellationToken) -> JobOutcome:
        begun.set()
        go_on.wait(30)
        return JobOutcome()

    with Worker(store, {KIND: make_kind(handler)}, poll_seconds=SOON):
        enqueue_job(store)
        assert begun.wait(20)
        with store.write(project=PROJECT) as tx:
            documents.add(tx, "saved meanwhile")
            service.enqueue(tx, KIND, "note:1")
        assert (list_documents(store), load_job(store).runs_again) == (["saved meanwhile"], True)
        go_on.set()
        wait_until(lambda: load_job(store).state is JobState.DONE)


def _raise(error: BaseException) -> JobOutcome:
    raise error


@pytest.mark.parametrize(
    ("made", "why", "note"),
    [
        (lambda: _raise(ValueError("a key: sk-123")), "JOB_FAILED", "ValueError"),
        (lambda: _raise(SystemExit(3)), "JOB_FAILED", "SystemExit"),
        (lambda: _raise(FabulaError(Code.LLM_GONE, message("It is gone."))), "LLM_GONE", "It is gone."),
        (lambda: None, "JOB_ANSWER_INVALID", "The handler of the job returned NoneType, not an outcome."),
        (lambda: "done!", "JOB_ANSWER_INVALID", "The handler of the job returned str, not an outcome."),
        (lambda: rubbish(write="no function"), "JOB_ANSWER_INVALID", None),
        (lambda: rubbish(user=7), "JOB_ANSWER_INVALID", None),
        (lambda: JobOutcome(cost_micros=-5), "JOB_ANSWER_INVALID", None),
        (lambda: rubbish(cost_micros=1.5), "JOB_ANSWER_INVALID", None),
        (lambda: JobOutcome(write=lambda tx: documents.add(tx, "\x00")), "TEXT_INVALID", None),
        (lambda: rubbish(write=lambda tx: tx.nothing()), "JOB_FAILED", "AttributeError"),
    ],
)
def test_whatever_a_handler_does_its_job_ends_and_the_worker_goes_on(
    store: Store, made: Any, why: str, note: str | None
) -> None:
    create_project(store)
    enqueue_job(store)
    enqueue_job(store, "good:1")
    kind = make_kind(lambda job, stop: made() if job.key == "note:1" else add_document_handler(job, stop), max_tries=2)
    _drain(store, kind, threads=1)
    stands = load_job(store)
    assert (stands.state, stands.reason) == (JobState.FAILED, why)
    assert note is None or stands.note == note
    assert list_documents(store) == ["good:1"]


def test_money_is_counted_whatever_becomes_of_the_job(store: Store) -> None:
    create_project(store)

    def handler(job: Job, stop: CancellationToken) -> JobOutcome:
        stop.add_cost(30)
        if job.tries == 1:
            raise FabulaError(Code.LLM_GONE, message("It is gone."))
        return JobOutcome(cost_micros=12)

    enqueue_job(store)
    _drain(store, make_kind(handler))
    assert (load_job(store).cost_micros, _read_cost(store)) == (72, 72)


def test_a_job_that_hangs_is_given_up_and_its_late_result_is_refused(store: Store) -> None:
    create_project(store)
    go_on, seen = threading.Event(), []

    def hangs(job: Job, stop: CancellationToken) -> JobOutcome:
        go_on.wait(30)
        seen.append(stop.reason)
        stop.add_cost(5)
        return add_document_handler(job, stop)

    enqueue_job(store)
    kinds = {KIND: make_kind(hangs, timeout=0.2, max_tries=1), "good": make_kind()}
    with Worker(store, kinds, threads=1, lease_seconds=1.0, poll_seconds=SOON) as worker:
        wait_until(lambda: load_job(store).state is JobState.FAILED)
        assert load_job(store).reason == "JOB_TIMEOUT"
        enqueue_job(store, "good:1", kind="good")
        wait_until(lambda: list_documents(store) == ["good:1"])
        go_on.set()
        wait_until(lambda: _read_cost(store) == 5)
        assert worker.running_leases == []
    assert (seen, list_documents(store)) == ([Code.JOB_TIMEOUT], ["good:1"])
    assert load_job(store).state is JobState.FAILED


def test_the_threads_that_are_left_behind_are_bounded_and_come_back(store: Store) -> None:
    create_project(store)
    go_on = threading.Event()

    def hangs(job: Job, stop: CancellationToken) -> JobOutcome:
        go_on.wait(60)
        return add_document_handler(job, stop)

    for number in range(3):
        enqueue_job(store, f"hang:{number}")
    kinds = {KIND: make_kind(hangs, timeout=0.1, max_tries=1), "good": make_kind()}
    with Worker(store, kinds, threads=1, lease_seconds=1.0, poll_seconds=SOON, max_abandoned=2):
        wait_until(lambda: all(load_job(store, f"hang:{number}").state is JobState.FAILED for number in range(3)))
        enqueue_job(store, "good:1", kind="good")
        time.sleep(0.5)
        assert load_job(store, "good:1").state is JobState.QUEUED
        go_on.set()
        wait_until(lambda: list_documents(store) == ["good:1"])


def test_a_drained_worker_does_not_wait_for_a_job_that_hangs(store: Store) -> None:
    create_project(store)
    go_on = threading.Event()

    def hangs(job: Job, stop: CancellationToken) -> JobOutcome:
        go_on.wait(30)
        return add_document_handler(job, stop)

    enqueue_job(store)
    enqueue_job(store, "good:1", kind="good")
    kinds = {KIND: make_kind(hangs, timeout=0.2, max_tries=1), "good": make_kind()}
    Worker(store, kinds, threads=1, lease_seconds=1.0, poll_seconds=SOON).drain()
    go_on.set()
    assert (list_documents(store), load_job(store).reason) == (["good:1"], "JOB_TIMEOUT")


def test_a_lease_is_renewed_as_long_as_its_job_runs(store: Store, address: str) -> None:
    create_project(store)
    go_on = threading.Event()

    def handler(job: Job, stop: CancellationToken) -> JobOutcome:
        go_on.wait(30)
        return add_document_handler(job, stop)

    enqueue_job(store)
    other = Store.open(address)
    with Worker(store, {KIND: make_kind(handler)}, lease_seconds=1.0, poll_seconds=SOON):
        wait_until(lambda: load_job(store).state is JobState.RUNNING)
        with Worker(other, {KIND: make_kind(handler)}, lease_seconds=1.0, poll_seconds=SOON):
            time.sleep(2.5)
            assert (load_job(store).state, load_job(store).tries) == (JobState.RUNNING, 1)
            go_on.set()
            wait_until(lambda: load_job(store).state is JobState.DONE)
    other.close()
    assert (list_documents(store), load_job(store).tries) == (["note:1"], 1)


def test_a_holder_that_lost_its_job_pays_for_nothing_more(store: Store) -> None:
    """A program that stood still goes on after another one has taken its job: it asks before it pays."""
    create_project(store)
    paid: list[str] = []
    caught: list[Code] = []

    def handler(job: Job, stop: CancellationToken) -> JobOutcome:
        stop.confirm_lease()
        paid.append("first")
        stop.add_cost(7)
        set_row(store, holder="another:1:worker")
        try:
            stop.confirm_lease()
        except FabulaError as error:
            caught.append(error.code)
            raise
        paid.append("second")
        return JobOutcome()

    enqueue_job(store)
    with Worker(store, {KIND: make_kind(handler)}, poll_seconds=SOON):
        wait_until(lambda: caught)
        wait_until(lambda: _read_cost(store) == 7)
    assert (paid, caught) == (["first"], [Code.JOB_LEASE_LOST])


def test_a_drained_worker_waits_until_it_knows_that_a_holder_is_dead(store: Store) -> None:
    create_project(store)
    enqueue_job(store)
    take_job(store, make_kind())
    set_row(store, leased_until=LONG_AGO, holder="elsewhere:1:x")
    _drain(store, make_kind(), lease_seconds=0.5)
    assert list_documents(store) == ["note:1"]


def test_a_running_job_is_told_that_it_was_cancelled(store: Store) -> None:
    create_project(store)
    why: list[Code | None] = []

    def handler(job: Job, stop: CancellationToken) -> JobOutcome:
        while not stop.wait(0.05):
            pass
        why.append(stop.reason)
        return add_document_handler(job, stop)

    enqueue_job(store)
    with Worker(store, {KIND: make_kind(handler)}, poll_seconds=SOON):
        wait_until(lambda: load_job(store).state is JobState.RUNNING)
        with store.write(project=PROJECT) as tx:
            service.cancel_job(tx, "note:1")
        wait_until(lambda: load_job(store).state is JobState.CANCELLED)
    assert (why, list_documents(store)) == ([Code.JOB_CANCELLED], [])


def test_a_worker_that_is_stopped_gives_its_jobs_back(store: Store) -> None:
    create_project(store)

    def obeys(job: Job, stop: CancellationToken) -> JobOutcome:
        while True:
            stop.raise_if_cancelled()
            stop.wait(0.05)

    enqueue_job(store)
    worker = Worker(store, {KIND: make_kind(obeys, max_tries=1)}, poll_seconds=SOON)
    worker.start()
    worker.start()
    wait_until(lambda: load_job(store).state is JobState.RUNNING)
    worker.stop()
    worker.stop()
    assert (load_job(store).state, load_job(store).reason, load_job(store).tries) == (JobState.QUEUED, "JOB_STOPPED", 0)
    _drain(store, make_kind())
    assert list_documents(store) == ["note:1"]


def test_a_worker_that_is_stopped_does_not_wait_for_ever(store: Store) -> None:
    create_project(store)
    go_on = threading.Event()

    def ignores(job: Job, stop: CancellationToken) -> JobOutcome:
        go_on.wait(30)
        return add_document_handler(job, stop)

    enqueue_job(store)
    worker = Worker(store, {KIND: make_kind(ignores)}, poll_seconds=SOON)
    worker.start()
    wait_until(lambda: bool(worker.running_leases))  # the row says so a moment before
    worker.stop(timeout=0.1)
    assert load_job(store).state is JobState.QUEUED
    _drain(store, make_kind())
    go_on.set()
    time.sleep(0.2)
    assert list_documents(store) == ["note:1"], "once, by the other"


def test_a_worker_can_be_started_again(store: Store) -> None:
    create_project(store)
    worker = Worker(store, {KIND: make_kind()}, poll_seconds=SOON)
    for key in ("note:1", "note:2"):
        worker.start()
        enqueue_job(store, key)
        wait_until(partial(_has_document, store, key))
        worker.stop()


def test_a_project_that_goes_while_its_job_runs_takes_the_result_along(store: Store) -> None:
    create_project(store)
    begun, go_on = threading.Event(), threading.Event()

    def handler(job: Job, stop: CancellationToken) -> JobOutcome:
        if job.project_id == PROJECT:
            begun.set()
            go_on.wait(30)
            stop.add_cost(9)
        return add_document_handler(job, stop)

    enqueue_job(store)
    with Worker(store, {KIND: make_kind(handler)}, poll_seconds=SOON):
        assert begun.wait(20)
        projects.remove(store, PROJECT)
        go_on.set()
        create_project(store, "next")
        enqueue_job(store, project="next")
        wait_until(lambda: list_documents(store, "next") == ["note:1"])
    assert store.project_ids() == ["next"]


def test_when_the_breaker_closes_the_jobs_that_waited_go_on(store: Store) -> None:
    create_project(store)
    kind = make_kind(
        lambda job, stop: (
            add_document_handler(job, stop) if job.tries > 2 or job.key != "note:0" else _raise(OSError())
        ),
        breaker_threshold=2,
        breaker_pause=0.3,
        timeout=60.0,
    )
    for number in range(6):
        enqueue_job(store, f"note:{number}")
    with store.write(project=PROJECT) as tx:
        for _ in range(2):
            guards.record_failure(tx, KIND, kind, "LLM_GONE", tx.current_time())
    with Worker(store, {KIND: kind}, poll_seconds=SOON):
        wait_until(lambda: len(list_documents(store)) == 6)


def test_threads_end_with_their_worker(store: Store) -> None:
    create_project(store)
    before = threading.active_count()
    with Worker(store, {KIND: make_kind()}, threads=4, poll_seconds=SOON):
        assert threading.active_count() == before + 5
    wait_until(lambda: threading.active_count() == before)


def _has_document(store: Store, key: str) -> bool:
    return key in list_documents(store)


def _read_cost(store: Store) -> int:
    with store.read(project=PROJECT) as reading:
        return guards.read_spending(reading, reading.current_time(), 0).spent
