"""The worker: runs what is due, survives its handlers, and stops when it is told to."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import Any

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.jobs import guards
from fabula.jobs import queue as service
from fabula.jobs.cancellation import Stop
from fabula.jobs.model import Job, Kind, Outcome, State
from fabula.jobs.worker import Worker
from fabula.manuscript import documents, projects
from fabula.store.store import Store
from tests.jobs.fake_jobs import KIND, PROJECT, ask, begin, card, eventually, kind_of, notes, noting

rubbish: Any = Outcome
SOON = 0.02  # seconds between looks, so that nobody waits for a test


def _drained(store: Store, kind: Kind, **options: Any) -> None:
    Worker(store, {KIND: kind}, poll=SOON, **options).drain()


def test_what_is_due_is_done_and_what_is_not_stays(store: Store) -> None:
    begin(store)
    for number in range(12):
        ask(store, f"note:{number}")
    ask(store, "note:later", due_in=500)
    ask(store, "other:1", kind="of.tomorrow")
    _drained(store, kind_of(), threads=3)
    assert notes(store) == sorted(f"note:{number}" for number in range(12))
    assert card(store, "note:later").state is card(store, "other:1").state is State.QUEUED


def test_jobs_that_are_queued_while_it_runs_are_taken_without_waiting_for_the_next_look(store: Store) -> None:
    begin(store)
    with Worker(store, {KIND: kind_of()}, poll=3_600):
        ask(store, "note:1")
        eventually(lambda: notes(store) == ["note:1"])
        ask(store, "note:2")
        eventually(lambda: notes(store) == ["note:1", "note:2"])


def test_jobs_that_another_process_queues_are_found_by_looking(store: Store, address: str) -> None:
    begin(store)
    other = Store.open(address)
    with Worker(store, {KIND: kind_of()}, poll=SOON):
        ask(other)
        eventually(lambda: notes(store) == ["note:1"])
    other.close()


def test_a_job_may_queue_another_with_its_result(store: Store) -> None:
    begin(store)

    def handler(job: Job, _: Stop) -> Outcome:
        left = int(job.work["left"])

        def write(tx: Any) -> None:
            documents.add(tx, job.key)
            if left:
                service.queue(tx, KIND, f"note:{left - 1}", {"left": left - 1})

        return Outcome(write=write)

    ask(store, "note:3", {"left": 3})
    _drained(store, kind_of(handler))
    assert notes(store) == [f"note:{number}" for number in range(4)]


def test_nobody_who_saves_waits_for_a_job(store: Store) -> None:
    begin(store)
    begun, go_on = threading.Event(), threading.Event()

    def handler(job: Job, _: Stop) -> Outcome:
        begun.set()
        go_on.wait(30)
        return Outcome()

    with Worker(store, {KIND: kind_of(handler)}, poll=SOON):
        ask(store)
        assert begun.wait(20)
        with store.write(project=PROJECT) as tx:
            documents.add(tx, "saved meanwhile")
            service.queue(tx, KIND, "note:1")
        assert (notes(store), card(store).again) == (["saved meanwhile"], True)
        go_on.set()
        eventually(lambda: card(store).state is State.DONE)


def _raise(error: BaseException) -> Outcome:
    raise error


@pytest.mark.parametrize(
    ("made", "why", "note"),
    [
        (lambda: _raise(ValueError("a key: sk-123")), "JOB_FAILED", "ValueError"),
        (lambda: _raise(SystemExit(3)), "JOB_FAILED", "SystemExit"),
        (lambda: _raise(FabulaError(Code.LLM_GONE, "It is gone.")), "LLM_GONE", "It is gone."),
        (lambda: None, "JOB_ANSWER_INVALID", "The handler returned NoneType, which is no outcome."),
        (lambda: "done!", "JOB_ANSWER_INVALID", "The handler returned str, which is no outcome."),
        (lambda: rubbish(write="no function"), "JOB_ANSWER_INVALID", None),
        (lambda: rubbish(user=7), "JOB_ANSWER_INVALID", None),
        (lambda: Outcome(micros=-5), "JOB_ANSWER_INVALID", None),
        (lambda: rubbish(micros=1.5), "JOB_ANSWER_INVALID", None),
        (lambda: Outcome(write=lambda tx: documents.add(tx, "\x00")), "TEXT_INVALID", None),
        (lambda: rubbish(write=lambda tx: tx.nothing()), "JOB_FAILED", "AttributeError"),
    ],
)
def test_whatever_a_handler_does_its_job_ends_and_the_worker_goes_on(
    store: Store, made: Any, why: str, note: str | None
) -> None:
    begin(store)
    ask(store)
    ask(store, "good:1")
    kind = kind_of(lambda job, stop: made() if job.key == "note:1" else noting(job, stop), tries=2)
    _drained(store, kind, threads=1)
    stands = card(store)
    assert (stands.state, stands.why) == (State.FAILED, why)
    assert note is None or stands.note == note
    assert notes(store) == ["good:1"]


def test_money_is_counted_whatever_becomes_of_the_job(store: Store) -> None:
    begin(store)

    def handler(job: Job, stop: Stop) -> Outcome:
        stop.spend(30)
        if job.tries == 1:
            raise FabulaError(Code.LLM_GONE, "It is gone.")
        return Outcome(micros=12)

    ask(store)
    _drained(store, kind_of(handler))
    assert (card(store).micros, _spent(store)) == (72, 72)


def test_a_job_that_hangs_is_given_up_and_its_late_result_is_refused(store: Store) -> None:
    begin(store)
    go_on, seen = threading.Event(), []

    def hangs(job: Job, stop: Stop) -> Outcome:
        go_on.wait(30)
        seen.append(stop.why)
        stop.spend(5)
        return noting(job, stop)

    ask(store)
    kinds = {KIND: kind_of(hangs, seconds=0.2, tries=1), "good": kind_of()}
    with Worker(store, kinds, threads=1, lease=1.0, poll=SOON) as worker:
        eventually(lambda: card(store).state is State.FAILED)
        assert card(store).why == "JOB_TIMEOUT"
        ask(store, "good:1", kind="good")
        eventually(lambda: notes(store) == ["good:1"])
        go_on.set()
        eventually(lambda: _spent(store) == 5)
        assert worker.running == []
    assert (seen, notes(store)) == ([Code.JOB_TIMEOUT], ["good:1"])
    assert card(store).state is State.FAILED


def test_the_threads_that_are_left_behind_are_bounded_and_come_back(store: Store) -> None:
    begin(store)
    go_on = threading.Event()

    def hangs(job: Job, stop: Stop) -> Outcome:
        go_on.wait(60)
        return noting(job, stop)

    for number in range(3):
        ask(store, f"hang:{number}")
    kinds = {KIND: kind_of(hangs, seconds=0.1, tries=1), "good": kind_of()}
    with Worker(store, kinds, threads=1, lease=1.0, poll=SOON, most_left=2):
        eventually(lambda: all(card(store, f"hang:{number}").state is State.FAILED for number in range(3)))
        ask(store, "good:1", kind="good")
        time.sleep(0.5)
        assert card(store, "good:1").state is State.QUEUED
        go_on.set()
        eventually(lambda: notes(store) == ["good:1"])


def test_a_drained_worker_does_not_wait_for_a_job_that_hangs(store: Store) -> None:
    begin(store)
    go_on = threading.Event()

    def hangs(job: Job, stop: Stop) -> Outcome:
        go_on.wait(30)
        return noting(job, stop)

    ask(store)
    ask(store, "good:1", kind="good")
    kinds = {KIND: kind_of(hangs, seconds=0.2, tries=1), "good": kind_of()}
    Worker(store, kinds, threads=1, lease=1.0, poll=SOON).drain()
    go_on.set()
    assert (notes(store), card(store).why) == (["good:1"], "JOB_TIMEOUT")


def test_a_lease_is_renewed_as_long_as_its_job_runs(store: Store, address: str) -> None:
    begin(store)
    go_on = threading.Event()

    def handler(job: Job, stop: Stop) -> Outcome:
        go_on.wait(30)
        return noting(job, stop)

    ask(store)
    other = Store.open(address)
    with Worker(store, {KIND: kind_of(handler)}, lease=1.0, poll=SOON):
        eventually(lambda: card(store).state is State.RUNNING)
        with Worker(other, {KIND: kind_of(handler)}, lease=1.0, poll=SOON):
            time.sleep(2.5)
            assert (card(store).state, card(store).tries) == (State.RUNNING, 1)
            go_on.set()
            eventually(lambda: card(store).state is State.DONE)
    other.close()
    assert (notes(store), card(store).tries) == (["note:1"], 1)


def test_a_running_job_is_told_that_it_was_cancelled(store: Store) -> None:
    begin(store)
    why: list[Code | None] = []

    def handler(job: Job, stop: Stop) -> Outcome:
        while not stop.wait(0.05):
            pass
        why.append(stop.why)
        return noting(job, stop)

    ask(store)
    with Worker(store, {KIND: kind_of(handler)}, poll=SOON):
        eventually(lambda: card(store).state is State.RUNNING)
        with store.write(project=PROJECT) as tx:
            service.cancel(tx, "note:1")
        eventually(lambda: card(store).state is State.CANCELLED)
    assert (why, notes(store)) == ([Code.JOB_CANCELLED], [])


def test_a_worker_that_is_stopped_gives_its_jobs_back(store: Store) -> None:
    begin(store)

    def obeys(job: Job, stop: Stop) -> Outcome:
        while True:
            stop.check()
            stop.wait(0.05)

    ask(store)
    worker = Worker(store, {KIND: kind_of(obeys, tries=1)}, poll=SOON)
    worker.start()
    worker.start()
    eventually(lambda: card(store).state is State.RUNNING)
    worker.stop()
    worker.stop()
    assert (card(store).state, card(store).why, card(store).tries) == (State.QUEUED, "JOB_STOPPED", 0)
    _drained(store, kind_of())
    assert notes(store) == ["note:1"]


def test_a_worker_that_is_stopped_does_not_wait_for_ever(store: Store) -> None:
    begin(store)
    go_on = threading.Event()

    def ignores(job: Job, stop: Stop) -> Outcome:
        go_on.wait(30)
        return noting(job, stop)

    ask(store)
    worker = Worker(store, {KIND: kind_of(ignores)}, poll=SOON)
    worker.start()
    eventually(lambda: card(store).state is State.RUNNING)
    worker.stop(patience=0.1)
    assert card(store).state is State.QUEUED
    _drained(store, kind_of())
    go_on.set()
    time.sleep(0.2)
    assert notes(store) == ["note:1"], "once, by the other"


def test_a_worker_can_be_started_again(store: Store) -> None:
    begin(store)
    worker = Worker(store, {KIND: kind_of()}, poll=SOON)
    for key in ("note:1", "note:2"):
        worker.start()
        ask(store, key)
        eventually(partial(_noted, store, key))
        worker.stop()


def test_a_project_that_goes_while_its_job_runs_takes_the_result_along(store: Store) -> None:
    begin(store)
    begun, go_on = threading.Event(), threading.Event()

    def handler(job: Job, stop: Stop) -> Outcome:
        if job.project_id == PROJECT:
            begun.set()
            go_on.wait(30)
            stop.spend(9)
        return noting(job, stop)

    ask(store)
    with Worker(store, {KIND: kind_of(handler)}, poll=SOON):
        assert begun.wait(20)
        projects.remove(store, PROJECT)
        go_on.set()
        begin(store, "next")
        ask(store, project="next")
        eventually(lambda: notes(store, "next") == ["note:1"])
    assert store.project_ids() == ["next"]


def test_when_the_breaker_closes_the_jobs_that_waited_go_on(store: Store) -> None:
    begin(store)
    kind = kind_of(
        lambda job, stop: noting(job, stop) if job.tries > 2 or job.key != "note:0" else _raise(OSError()),
        breaker_after=2,
        breaker_pause=0.3,
        seconds=60.0,
    )
    for number in range(6):
        ask(store, f"note:{number}")
    with store.write(project=PROJECT) as tx:
        for _ in range(2):
            guards.failed(tx, KIND, kind, "LLM_GONE", tx.clock())
    with Worker(store, {KIND: kind}, poll=SOON):
        eventually(lambda: len(notes(store)) == 6)


def test_threads_end_with_their_worker(store: Store) -> None:
    begin(store)
    before = threading.active_count()
    with Worker(store, {KIND: kind_of()}, threads=4, poll=SOON):
        assert threading.active_count() == before + 5
    eventually(lambda: threading.active_count() == before)


def _noted(store: Store, key: str) -> bool:
    return key in notes(store)


def _spent(store: Store) -> int:
    with store.read(project=PROJECT) as reading:
        return guards.money(reading, reading.clock()).spent
