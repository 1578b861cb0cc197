"""Queueing, looking, trying again and cancelling."""

from __future__ import annotations

from typing import Any

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.jobs import leases
from fabula.jobs import queue as service
from fabula.jobs.model import State
from fabula.jobs.tables import jobs
from fabula.jobs.timestamps import seconds_between
from fabula.manuscript import documents
from fabula.store.store import Store
from fabula.store.transaction import Writing
from tests.jobs.fake_jobs import (
    FAR_AHEAD,
    KIND,
    PROJECT,
    ask,
    begin,
    card,
    failed,
    finished,
    kind_of,
    notes,
    set_row,
    taken,
)


def test_a_job_is_queued_with_what_it_follows_from_or_not_at_all(store: Store) -> None:
    begin(store)
    with pytest.raises(FabulaError), store.write(project=PROJECT) as tx:
        _save(tx, "two\nlines")
    with store.read(project=PROJECT) as reading:
        assert service.listed(reading) == []
    assert notes(store) == []
    with store.write(project=PROJECT) as tx:
        _save(tx, "note:1")
    assert (card(store).state, notes(store)) == (State.QUEUED, ["Chapter"])


def _save(tx: Writing, key: str) -> None:
    documents.add(tx, "Chapter")
    service.queue(tx, KIND, key)


def test_queueing_taking_and_renewing_move_no_version_and_leave_no_line_in_the_feed(store: Store) -> None:
    begin(store)
    before = store.versions(project=PROJECT)
    ask(store)
    lease = taken(store, kind_of())
    leases.renew(store, lease)
    with store.write(project=PROJECT) as tx:
        leases.finish(tx, lease)
    assert store.versions(project=PROJECT) == before


def test_asking_again_while_it_waits_merges_and_the_newest_work_counts(store: Store) -> None:
    begin(store)
    ask(store, work={"n": 1}, due_in=5)
    ask(store, work={"n": 2})
    lease = taken(store, kind_of())
    assert (lease.job.work, lease.job.tries) == ({"n": 2}, 1)
    assert leases.take(store, {KIND: kind_of()}, seconds=30) is None


def test_asking_again_puts_a_job_off_but_not_for_ever(store: Store) -> None:
    begin(store)
    ask(store, due_in=20, at_most=60)
    first = card(store)
    assert 19 < seconds_between(first.queued, first.due) <= 20
    set_row(store, queued="2026-01-01T00:00:00.000000Z", latest="2026-01-01T00:01:00.000000Z")
    ask(store, due_in=20, at_most=60)
    again = card(store)
    assert (again.queued, again.due) == ("2026-01-01T00:00:00.000000Z", "2026-01-01T00:01:00.000000Z")


def test_asking_without_a_wait_makes_a_waiting_job_due_at_once(store: Store) -> None:
    begin(store)
    ask(store, due_in=3_600, at_most=3_600)
    assert leases.take(store, {KIND: kind_of()}, seconds=30) is None
    ask(store)
    assert leases.take(store, {KIND: kind_of()}, seconds=30) is not None


def test_asking_while_it_runs_lets_it_run_once_more(store: Store) -> None:
    begin(store)
    ask(store, work={"n": 1})
    lease = taken(store, kind_of())
    ask(store, work={"n": 2})
    ask(store, work={"n": 3})
    assert (card(store).state, card(store).again) == (State.RUNNING, True)
    finished(store, lease, "first")
    assert (card(store).state, card(store).tries, card(store).again) == (State.QUEUED, 0, False)
    lease = taken(store, kind_of())
    assert lease.job.work == {"n": 3}
    finished(store, lease, "second")
    assert (card(store).state, notes(store)) == (State.DONE, ["first", "second"])


def test_a_job_that_was_done_runs_again_when_it_is_asked_for_again(store: Store) -> None:
    begin(store)
    for _ in range(2):
        ask(store)
        finished(store, taken(store, kind_of()), spent=7)
    assert (card(store).state, card(store).micros, card(store).tries) == (State.DONE, 7, 1)


def test_a_job_says_when_how_long_and_what_it_cost(store: Store) -> None:
    begin(store)
    ask(store)
    lease = taken(store, kind_of())
    assert leases.renew(store, lease, spent=5)
    running = card(store)
    assert (running.state, running.micros) == (State.RUNNING, 5)
    finished(store, lease, spent=12)
    done = card(store)
    assert (done.state, done.why, done.micros) == (State.DONE, "", 12)
    assert done.queued <= done.started <= done.ended
    assert done.seconds == pytest.approx(seconds_between(done.started, done.ended))


def test_a_waiting_job_is_cancelled_at_once_and_can_be_retried(store: Store) -> None:
    begin(store)
    ask(store)
    with store.write(project=PROJECT) as tx:
        assert service.cancel(tx, "note:1") is State.CANCELLED
    assert (card(store).why, leases.take(store, {KIND: kind_of()}, seconds=30)) == ("JOB_CANCELLED", None)
    with store.write(project=PROJECT) as tx:
        service.retry(tx, "note:1")
    assert taken(store, kind_of()).key == "note:1"


def test_the_result_of_a_job_that_was_cancelled_meanwhile_is_not_kept(store: Store) -> None:
    begin(store)
    ask(store)
    lease = taken(store, kind_of())
    with store.write(project=PROJECT) as tx:
        assert service.cancel(tx, "note:1") is State.RUNNING
    assert leases.cancelled(store, [lease]) == [lease.holder]
    with pytest.raises(FabulaError) as refused:
        finished(store, lease, "too late")
    assert refused.value.code is Code.JOB_CANCELLED
    assert failed(store, lease, kind_of()) is State.CANCELLED
    assert (card(store).state, notes(store)) == (State.CANCELLED, [])


def test_a_running_job_cannot_be_retried(store: Store) -> None:
    begin(store)
    ask(store)
    taken(store, kind_of())
    with pytest.raises(FabulaError) as refused, store.write(project=PROJECT) as tx:
        service.retry(tx, "note:1")
    assert refused.value.code is Code.JOB_RUNNING


def test_retrying_brings_a_job_forward_that_waits(store: Store) -> None:
    begin(store)
    ask(store)
    set_row(store, due=FAR_AHEAD, tries=4)
    with store.write(project=PROJECT) as tx:
        service.retry(tx, "note:1")
    assert taken(store, kind_of()).job.tries == 1


def test_a_job_that_is_not_there_is_refused_by_name(store: Store) -> None:
    begin(store)
    with store.write(project=PROJECT) as tx:
        for act in (service.retry, service.cancel, service.look):
            with pytest.raises(FabulaError) as refused:
                act(tx, "nobody")
            assert refused.value.code is Code.JOB_NOT_FOUND


def test_a_project_sees_its_own_jobs_only(store: Store) -> None:
    begin(store, "mine")
    begin(store, "theirs")
    ask(store, project="mine")
    ask(store, key="note:2", project="theirs")
    with store.read(project="mine") as reading:
        assert [one.key for one in service.listed(reading)] == ["note:1"]


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
    begin(store)
    with store.write(project=PROJECT) as tx:
        with pytest.raises(FabulaError) as refused:
            service.queue(tx, kind, key, work, due_in=due_in)
        assert refused.value.code is Code.JOB_INVALID
        assert tx.count(jobs) == 0
