"""Queueing, looking, trying again and cancelling."""

from __future__ import annotations

from typing import Any

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.jobs import leases
from fabula.jobs import queue as service
from fabula.jobs.model import JobState
from fabula.jobs.tables import jobs
from fabula.jobs.timestamps import seconds_between
from fabula.manuscript import documents
from fabula.store.store import Store
from fabula.store.transaction import WriteTransaction
from tests.jobs.fake_jobs import (
    FAR_AHEAD,
    KIND,
    PROJECT,
    create_project,
    enqueue_job,
    fail_job,
    finish_job,
    list_documents,
    load_job,
    make_kind,
    set_row,
    take_job,
)


def test_a_job_is_queued_with_what_it_follows_from_or_not_at_all(store: Store) -> None:
    create_project(store)
    with pytest.raises(FabulaError), store.write(project=PROJECT) as tx:
        _save(tx, "two\nlines")
    with store.read(project=PROJECT) as reading:
        assert service.list_jobs(reading) == []
    assert list_documents(store) == []
    with store.write(project=PROJECT) as tx:
        _save(tx, "note:1")
    assert (load_job(store).state, list_documents(store)) == (JobState.QUEUED, ["Chapter"])


def _save(tx: WriteTransaction, key: str) -> None:
    documents.add(tx, "Chapter")
    service.enqueue(tx, KIND, key)


def test_queueing_taking_and_renewing_move_no_version_and_leave_no_line_in_the_feed(store: Store) -> None:
    create_project(store)
    before = store.versions(project=PROJECT)
    enqueue_job(store)
    lease = take_job(store, make_kind())
    leases.renew_lease(store, lease)
    with store.write(project=PROJECT) as tx:
        leases.finish_job(tx, lease)
    assert store.versions(project=PROJECT) == before


def test_asking_again_while_it_waits_merges_and_the_newest_work_counts(store: Store) -> None:
    create_project(store)
    enqueue_job(store, work={"n": 1}, due_in=5)
    enqueue_job(store, work={"n": 2})
    lease = take_job(store, make_kind())
    assert (lease.work, lease.tries) == ({"n": 2}, 1)
    assert leases.take_job(store, {KIND: make_kind()}, seconds=30) is None


def test_asking_again_puts_a_job_off_but_not_for_ever(store: Store) -> None:
    create_project(store)
    enqueue_job(store, due_in=20, max_delay=60)
    first = load_job(store)
    assert 19 < seconds_between(first.queued_at, first.due_at) <= 20
    set_row(store, queued="2026-01-01T00:00:00.000000Z", latest="2026-01-01T00:01:00.000000Z")
    enqueue_job(store, due_in=20, max_delay=60)
    again = load_job(store)
    assert (again.queued_at, again.due_at) == ("2026-01-01T00:00:00.000000Z", "2026-01-01T00:01:00.000000Z")


def test_a_job_that_waits_is_put_off_as_if_it_were_asked_for_again_and_no_other_is(store: Store) -> None:
    def postpone() -> bool:
        with store.write(project=PROJECT) as tx:
            return service.postpone(tx, "note:1", 20)

    create_project(store)
    assert not postpone()
    enqueue_job(store, work={"n": 1}, max_delay=60)
    assert postpone()
    waiting = load_job(store)
    assert (waiting.state, 19 < seconds_between(waiting.queued_at, waiting.due_at) <= 21) == (JobState.QUEUED, True)
    assert postpone()
    assert load_job(store).due_at == waiting.due_at, "it was put off a moment ago"
    set_row(store, tries=1)
    assert postpone()
    assert (load_job(store).due_at > waiting.due_at, load_job(store).tries) == (True, 0)
    set_row(store, latest="2026-01-01T00:01:00.000000Z")
    assert postpone()
    assert load_job(store).due_at == "2026-01-01T00:01:00.000000Z"
    lease = take_job(store, make_kind())
    assert lease.work == {"n": 1}
    assert not postpone()
    finish_job(store, lease)
    assert not postpone()
    assert load_job(store).state is JobState.DONE


def test_asking_without_a_wait_makes_a_waiting_job_due_at_once(store: Store) -> None:
    create_project(store)
    enqueue_job(store, due_in=3_600, max_delay=3_600)
    assert leases.take_job(store, {KIND: make_kind()}, seconds=30) is None
    enqueue_job(store)
    assert leases.take_job(store, {KIND: make_kind()}, seconds=30) is not None


def test_asking_while_it_runs_lets_it_run_once_more(store: Store) -> None:
    create_project(store)
    enqueue_job(store, work={"n": 1})
    lease = take_job(store, make_kind())
    enqueue_job(store, work={"n": 2})
    enqueue_job(store, work={"n": 3})
    assert (load_job(store).state, load_job(store).runs_again) == (JobState.RUNNING, True)
    finish_job(store, lease, "first")
    assert (load_job(store).state, load_job(store).tries, load_job(store).runs_again) == (JobState.QUEUED, 0, False)
    lease = take_job(store, make_kind())
    assert lease.work == {"n": 3}
    finish_job(store, lease, "second")
    assert (load_job(store).state, list_documents(store)) == (JobState.DONE, ["first", "second"])


def test_a_job_that_was_done_runs_again_when_it_is_asked_for_again(store: Store) -> None:
    create_project(store)
    for _ in range(2):
        enqueue_job(store)
        finish_job(store, take_job(store, make_kind()), cost=7)
    assert (load_job(store).state, load_job(store).cost_micros, load_job(store).tries) == (JobState.DONE, 7, 1)


def test_a_job_says_when_how_long_and_what_it_cost(store: Store) -> None:
    create_project(store)
    enqueue_job(store)
    lease = take_job(store, make_kind())
    assert leases.renew_lease(store, lease, cost=5)
    running = load_job(store)
    assert (running.state, running.cost_micros) == (JobState.RUNNING, 5)
    finish_job(store, lease, cost=12)
    done = load_job(store)
    assert (done.state, done.reason, done.cost_micros) == (JobState.DONE, "", 12)
    assert done.queued_at <= done.started_at <= done.ended_at
    assert done.seconds == pytest.approx(seconds_between(done.started_at, done.ended_at))


def test_a_waiting_job_is_cancelled_at_once_and_can_be_retried(store: Store) -> None:
    create_project(store)
    enqueue_job(store)
    with store.write(project=PROJECT) as tx:
        assert service.cancel_job(tx, "note:1") is JobState.CANCELLED
    assert (load_job(store).reason, leases.take_job(store, {KIND: make_kind()}, seconds=30)) == ("JOB_CANCELLED", None)
    with store.write(project=PROJECT) as tx:
        service.retry_job(tx, "note:1")
    assert take_job(store, make_kind()).key == "note:1"


def test_the_result_of_a_job_that_was_cancelled_meanwhile_is_not_kept(store: Store) -> None:
    create_project(store)
    enqueue_job(store)
    lease = take_job(store, make_kind())
    with store.write(project=PROJECT) as tx:
        assert service.cancel_job(tx, "note:1") is JobState.RUNNING
    assert leases.find_cancelled(store, [lease]) == [lease.holder]
    with pytest.raises(FabulaError) as refused:
        finish_job(store, lease, "too late")
    assert refused.value.code is Code.JOB_CANCELLED
    assert fail_job(store, lease, make_kind()) is JobState.CANCELLED
    assert (load_job(store).state, list_documents(store)) == (JobState.CANCELLED, [])


def test_a_running_job_cannot_be_retried(store: Store) -> None:
    create_project(store)
    enqueue_job(store)
    take_job(store, make_kind())
    with pytest.raises(FabulaError) as refused, store.write(project=PROJECT) as tx:
        service.retry_job(tx, "note:1")
    assert refused.value.code is Code.JOB_RUNNING


def test_retrying_brings_a_job_forward_that_waits(store: Store) -> None:
    create_project(store)
    enqueue_job(store)
    set_row(store, due=FAR_AHEAD, tries=4)
    with store.write(project=PROJECT) as tx:
        service.retry_job(tx, "note:1")
    assert take_job(store, make_kind()).tries == 1


def test_a_job_that_is_not_there_is_refused_by_name(store: Store) -> None:
    create_project(store)
    with store.write(project=PROJECT) as tx:
        for act in (service.retry_job, service.cancel_job, service.get_job):
            with pytest.raises(FabulaError) as refused:
                act(tx, "nobody")
            assert refused.value.code is Code.JOB_NOT_FOUND


def test_a_project_sees_its_own_jobs_only(store: Store) -> None:
    create_project(store, "mine")
    create_project(store, "theirs")
    enqueue_job(store, project="mine")
    enqueue_job(store, key="note:2", project="theirs")
    with store.read(project="mine") as reading:
        assert [one.key for one in service.list_jobs(reading)] == ["note:1"]


def _cyclic() -> dict[str, object]:
    work: dict[str, object] = {}
    work["self"] = work
    return work


@pytest.mark.parametrize(
    ("kind", "key", "work", "due_in"),
    [
        (KIND, "k", {"n": object()}, 0.0),
        (KIND, "k", {"n": {1, 2}.__iter__}, 0.0),
        (KIND, "k", ["a", "list"], 0.0),
        (KIND, "k", "text", 0.0),
        (KIND, "k", {"n": "\ud800"}, 0.0),
        (KIND, "k", _cyclic(), 0.0),
        (KIND, "k", {"n": "x" * 200_000}, 0.0),
        (KIND, "two\nlines", {}, 0.0),
        (KIND, "\ud800", {}, 0.0),
        (KIND, "", {}, 0.0),
        (KIND, "x" * 500, {}, 0.0),
        ("Note it!", "k", {}, 0.0),
        ("", "k", {}, 0.0),
        (KIND, "k", {}, -1.0),
        (KIND, "k", {}, float("nan")),
        (KIND, "k", {}, float("inf")),
        (KIND, "k", {}, 1e300),
    ],
)
def test_a_job_that_makes_no_sense_is_refused(store: Store, kind: str, key: str, work: Any, due_in: float) -> None:
    create_project(store)
    with store.write(project=PROJECT) as tx:
        with pytest.raises(FabulaError) as refused:
            service.enqueue(tx, kind, key, work, due_in=due_in)
        assert refused.value.code is Code.JOB_INVALID
        assert tx.count(jobs) == 0
