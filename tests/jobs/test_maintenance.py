"""Upkeep: dead holders, clocks that were set back, and what was finished long ago."""

from __future__ import annotations

import subprocess
import sys

import pytest

from fabula.jobs import leases
from fabula.jobs import maintenance as upkeep
from fabula.jobs import queue as service
from fabula.jobs.lease_watch import LeaseWatch, make_holder
from fabula.jobs.model import JobState
from fabula.store.store import Store
from tests.jobs.fake_jobs import (
    FAR_AHEAD,
    KIND,
    LONG_AGO,
    PROJECT,
    create_project,
    enqueue_job,
    fail_job,
    finish_job,
    list_documents,
    load_job,
    make_kind,
    requeue_lost,
    set_row,
    take_job,
)

KINDS = {KIND: make_kind()}
HERE = make_holder().rsplit(":", 2)[0]


def test_the_job_of_a_dead_holder_waits_for_another_at_once(store: Store) -> None:
    create_project(store)
    enqueue_job(store, work={"n": 1})
    take_job(store, KINDS[KIND])
    assert requeue_lost(store, KINDS, seconds=30) == 0, "the lease still runs"
    set_row(store, leased_until=LONG_AGO)
    assert requeue_lost(store, KINDS, seconds=30) == 1
    assert (load_job(store).state, load_job(store).reason) == (JobState.QUEUED, "JOB_ABANDONED")
    lease = take_job(store, KINDS[KIND])
    assert (lease.tries, lease.work) == (2, {"n": 1})


def test_a_job_that_kills_whoever_runs_it_is_given_up_in_the_end(store: Store) -> None:
    create_project(store)
    enqueue_job(store)
    kinds = {KIND: make_kind(max_tries=3)}
    for _ in range(3):
        take_job(store, kinds[KIND])
        set_row(store, leased_until=LONG_AGO)
        requeue_lost(store, kinds, seconds=30)
    assert (load_job(store).state, load_job(store).reason, load_job(store).tries) == (
        JobState.FAILED,
        "JOB_ABANDONED",
        3,
    )


def test_a_job_that_was_cancelled_while_its_holder_was_dead_is_cancelled(store: Store) -> None:
    create_project(store)
    enqueue_job(store)
    take_job(store, KINDS[KIND])
    set_row(store, leased_until=LONG_AGO)
    with store.write(project=PROJECT) as tx:
        service.cancel_job(tx, "note:1")
    requeue_lost(store, KINDS, seconds=30)
    assert load_job(store).state is JobState.CANCELLED


def test_jobs_of_an_unknown_kind_are_left_to_those_who_know_it(store: Store) -> None:
    create_project(store)
    enqueue_job(store)
    take_job(store, KINDS[KIND])
    set_row(store, leased_until=LONG_AGO)
    assert requeue_lost(store, {}, seconds=30) == 0
    assert load_job(store).state is JobState.RUNNING


def test_a_lease_from_before_the_clock_was_set_back_ends_soon(store: Store) -> None:
    create_project(store)
    enqueue_job(store)
    lease = take_job(store, KINDS[KIND])
    set_row(store, leased_until=FAR_AHEAD)
    assert upkeep.fix_future_times(store, seconds=0.0) == 1
    assert requeue_lost(store, KINDS, seconds=30) == 1
    assert not leases.renew_lease(store, lease)
    assert take_job(store, KINDS[KIND]).tries == 2


def test_a_living_holder_keeps_its_job_when_the_clock_was_set_back(store: Store) -> None:
    create_project(store)
    enqueue_job(store)
    lease = take_job(store, KINDS[KIND])
    set_row(store, leased_until=FAR_AHEAD)
    assert upkeep.fix_future_times(store, seconds=30) == 1
    assert requeue_lost(store, KINDS, seconds=30) == 0
    assert leases.renew_lease(store, lease)
    finish_job(store, lease)
    assert list_documents(store) == ["note:1"]


def test_a_job_asked_for_before_the_clock_was_set_back_does_not_wait_for_years(store: Store) -> None:
    create_project(store)
    enqueue_job(store)
    enqueue_job(store, "note:2", due_in=86_400)
    set_row(store, queued=FAR_AHEAD, due=FAR_AHEAD, latest=FAR_AHEAD)
    assert upkeep.fix_future_times(store, seconds=30) == 1
    assert take_job(store, KINDS[KIND]).key == "note:1"
    assert leases.take_job(store, KINDS, seconds=30) is None, "what is meant for later stays there"


def test_finished_jobs_are_kept_for_a_while_and_then_forgotten(store: Store) -> None:
    create_project(store)
    create_project(store, "q")
    for key in ("old", "new", "waiting", "broken"):
        enqueue_job(store, key)
    enqueue_job(store, "old", project="q")
    kind = make_kind(max_tries=1)
    for _ in range(5):
        lease = take_job(store, kind)
        if lease.key == "broken":
            fail_job(store, lease, kind)
        elif lease.key != "waiting":
            finish_job(store, lease)
    for key, project in (("old", PROJECT), ("old", "q"), ("broken", PROJECT)):
        set_row(store, key, project, ended=LONG_AGO)
    assert upkeep.prune_finished(store) == 3
    assert upkeep.prune_finished(store) == 0
    with store.read(project=PROJECT) as reading:
        assert {one.key for one in service.list_jobs(reading)} == {"new", "waiting"}


def test_a_job_that_failed_while_the_clock_was_ahead_is_tried_again_soon(store: Store) -> None:
    create_project(store)
    enqueue_job(store)
    fail_job(store, take_job(store, KINDS[KIND]), KINDS[KIND])
    upkeep.fix_future_times(store, seconds=30)
    waiting = load_job(store).due_at
    set_row(store, due=FAR_AHEAD)
    assert upkeep.fix_future_times(store, seconds=30) == 1
    assert load_job(store).due_at < FAR_AHEAD
    assert waiting < FAR_AHEAD
    assert take_job(store, KINDS[KIND]).tries == 2


def test_a_clock_set_ahead_takes_no_job_from_a_living_holder(store: Store) -> None:
    create_project(store)
    enqueue_job(store)
    lease = take_job(store, KINDS[KIND])
    seconds = [0.0]
    watch = LeaseWatch(30, stopwatch=lambda: seconds[0])
    for seconds[0] in (0.0, 10.0, 20.0, 29.0):  # the holder renews every 10 s, and the clock jumps after each
        set_row(store, leased_until=f"2001-01-01T00:00:{seconds[0]:09.6f}Z")
        assert upkeep.requeue_lost(store, KINDS, watch, seconds=30) == 0
        assert watch.is_waiting
    for seconds[0] in (39.0, 58.0):
        assert upkeep.requeue_lost(store, KINDS, watch, seconds=30) == 0
    assert leases.renew_lease(store, lease)
    assert upkeep.requeue_lost(store, KINDS, watch, seconds=30) == 0
    assert not watch.is_waiting
    set_row(store, leased_until=LONG_AGO)
    for seconds[0], expected in ((60.0, 0), (89.0, 0), (90.0, 1)):
        assert upkeep.requeue_lost(store, KINDS, watch, seconds=30) == expected
    assert load_job(store).reason == "JOB_ABANDONED"


def test_the_job_of_a_process_that_is_gone_does_not_wait_for_its_lease(store: Store) -> None:
    create_project(store)
    enqueue_job(store)
    take_job(store, KINDS[KIND])
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    set_row(store, holder=f"{HERE}:{gone.pid}:x")  # its lease has not expired
    assert upkeep.requeue_lost(store, KINDS, LeaseWatch(30), seconds=30) == 1


@pytest.mark.parametrize("holder", ["", "x", "::", f"elsewhere:{2**22 + 1}:x", f"{HERE}:x:x"])
def test_a_holder_of_whom_nothing_is_known_here_is_watched(store: Store, holder: str) -> None:
    create_project(store)
    enqueue_job(store)
    take_job(store, KINDS[KIND])
    set_row(store, leased_until=LONG_AGO, holder=holder)
    assert upkeep.requeue_lost(store, KINDS, LeaseWatch(30), seconds=30) == 0
