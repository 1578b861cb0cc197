"""Upkeep: dead holders, clocks that were set back, and what was finished long ago."""

from __future__ import annotations

from fabula.jobs import leases
from fabula.jobs import maintenance as upkeep
from fabula.jobs import queue as service
from fabula.jobs.model import State
from fabula.store.store import Store
from tests.jobs.fake_jobs import (
    FAR_AHEAD,
    KIND,
    LONG_AGO,
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

KINDS = {KIND: kind_of()}


def test_the_job_of_a_dead_holder_waits_for_another_at_once(store: Store) -> None:
    begin(store)
    ask(store, work={"n": 1})
    taken(store, KINDS[KIND])
    assert upkeep.give_back_dead(store, KINDS, seconds=30) == 0, "the lease still runs"
    set_row(store, leased_until=LONG_AGO)
    assert upkeep.give_back_dead(store, KINDS, seconds=30) == 1
    assert (card(store).state, card(store).why) == (State.QUEUED, "JOB_ABANDONED")
    lease = taken(store, KINDS[KIND])
    assert (lease.job.tries, lease.job.work) == (2, {"n": 1})


def test_a_job_that_kills_whoever_runs_it_is_given_up_in_the_end(store: Store) -> None:
    begin(store)
    ask(store)
    kinds = {KIND: kind_of(tries=3)}
    for _ in range(3):
        taken(store, kinds[KIND])
        set_row(store, leased_until=LONG_AGO)
        upkeep.give_back_dead(store, kinds, seconds=30)
    assert (card(store).state, card(store).why, card(store).tries) == (State.FAILED, "JOB_ABANDONED", 3)


def test_a_job_that_was_cancelled_while_its_holder_was_dead_is_cancelled(store: Store) -> None:
    begin(store)
    ask(store)
    taken(store, KINDS[KIND])
    set_row(store, leased_until=LONG_AGO)
    with store.write(project=PROJECT) as tx:
        service.cancel(tx, "note:1")
    upkeep.give_back_dead(store, KINDS, seconds=30)
    assert card(store).state is State.CANCELLED


def test_jobs_of_an_unknown_kind_are_left_to_those_who_know_it(store: Store) -> None:
    begin(store)
    ask(store)
    taken(store, KINDS[KIND])
    set_row(store, leased_until=LONG_AGO)
    assert upkeep.give_back_dead(store, {}, seconds=30) == 0
    assert card(store).state is State.RUNNING


def test_a_lease_from_before_the_clock_was_set_back_ends_soon(store: Store) -> None:
    begin(store)
    ask(store)
    lease = taken(store, KINDS[KIND])
    set_row(store, leased_until=FAR_AHEAD)
    assert upkeep.put_times_right(store, seconds=0.0) == 1
    assert upkeep.give_back_dead(store, KINDS, seconds=30) == 1
    assert not leases.renew(store, lease)
    assert taken(store, KINDS[KIND]).job.tries == 2


def test_a_living_holder_keeps_its_job_when_the_clock_was_set_back(store: Store) -> None:
    begin(store)
    ask(store)
    lease = taken(store, KINDS[KIND])
    set_row(store, leased_until=FAR_AHEAD)
    assert upkeep.put_times_right(store, seconds=30) == 1
    assert upkeep.give_back_dead(store, KINDS, seconds=30) == 0
    assert leases.renew(store, lease)
    finished(store, lease)
    assert notes(store) == ["note:1"]


def test_a_job_asked_for_before_the_clock_was_set_back_does_not_wait_for_years(store: Store) -> None:
    begin(store)
    ask(store)
    ask(store, "note:2", due_in=86_400)
    set_row(store, queued=FAR_AHEAD, due=FAR_AHEAD, latest=FAR_AHEAD)
    assert upkeep.put_times_right(store, seconds=30) == 1
    assert taken(store, KINDS[KIND]).key == "note:1"
    assert leases.take(store, KINDS, seconds=30) is None, "what is meant for later stays there"


def test_finished_jobs_are_kept_for_a_while_and_then_forgotten(store: Store) -> None:
    begin(store)
    begin(store, "q")
    for key in ("old", "new", "waiting", "broken"):
        ask(store, key)
    ask(store, "old", project="q")
    kind = kind_of(tries=1)
    for _ in range(5):
        lease = taken(store, kind)
        if lease.key == "broken":
            failed(store, lease, kind)
        elif lease.key != "waiting":
            finished(store, lease)
    for key, project in (("old", PROJECT), ("old", "q"), ("broken", PROJECT)):
        set_row(store, key, project, ended=LONG_AGO)
    assert upkeep.prune(store) == 3
    assert upkeep.prune(store) == 0
    with store.read(project=PROJECT) as reading:
        assert {one.key for one in service.listed(reading)} == {"new", "waiting"}
