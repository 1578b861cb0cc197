"""Taking, holding and ending: one holder at a time, and one effect a job."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event, text

from fabula.core.errors import Code, FabulaError
from fabula.jobs import leases
from fabula.jobs.model import JobKind, JobState
from fabula.jobs.tables import jobs
from fabula.jobs.timestamps import seconds_between
from fabula.manuscript import projects
from fabula.store.store import Store
from tests.jobs.fake_jobs import (
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

RACES = 500
MANY = 10_000


def test_the_job_that_has_been_due_longest_is_taken_first(store: Store) -> None:
    create_project(store, "a")
    create_project(store, "b")
    enqueue_job(store, project="a")
    enqueue_job(store, project="b")
    set_row(store, project="b", due=LONG_AGO)
    assert [take_job(store, make_kind()).project_id for _ in range(2)] == ["b", "a"]


def test_an_unknown_kind_stays_queued(store: Store) -> None:
    create_project(store)
    enqueue_job(store, kind="of.tomorrow")
    assert leases.take_job(store, {KIND: make_kind()}, seconds=30) is None
    assert leases.take_job(store, {}, seconds=30) is None
    assert (load_job(store).state, load_job(store).reason) == (JobState.QUEUED, "")


def test_two_workers_racing_for_the_same_jobs_never_get_the_same_one(store: Store, address: str) -> None:
    create_project(store)
    _queue_many(store, RACES)
    kinds = {KIND: make_kind()}
    together = threading.Barrier(2)

    def work(mine: Store) -> list[str]:
        together.wait()
        got = []
        while (lease := leases.take_job(mine, kinds, seconds=600)) is not None:
            got.append(lease.key)
        return got

    other = Store.open(address)
    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(work, (store, other))
    other.close()
    assert len(one) + len(two) == RACES
    assert len({*one, *two}) == RACES


def test_ten_thousand_waiting_jobs_are_not_looked_through(store: Store) -> None:
    create_project(store)
    _queue_many(store, MANY, kind="of.tomorrow")
    _queue_many(store, MANY)
    if store.file is None:
        with store.engine.begin() as connection:
            connection.execute(text("ANALYZE jobs"))
    with _record_statements(store) as asked:
        take_job(store, make_kind())
    plans = [_explain(store, *one) for one in asked if one[0].startswith("SELECT jobs")]
    assert len(plans) >= 2
    for plan in plans:
        assert "ix_jobs_take" in plan or "pk_jobs" in plan or "autoindex_jobs" in plan, plan
        assert "Seq Scan" not in plan
        assert "TEMP B-TREE" not in plan


def test_a_lease_is_renewed_by_its_holder_only(store: Store) -> None:
    create_project(store)
    enqueue_job(store)
    lease = take_job(store, make_kind(), seconds=5)
    set_row(store, leased_until=LONG_AGO)
    assert leases.renew_lease(store, lease)
    assert requeue_lost(store, {KIND: make_kind()}, seconds=5) == 0
    set_row(store, leased_until=LONG_AGO)
    assert requeue_lost(store, {KIND: make_kind()}, seconds=5) == 1
    assert not leases.renew_lease(store, lease)


def test_a_holder_that_comes_back_too_late_cannot_end_the_job_of_the_next_one(store: Store) -> None:
    create_project(store)
    enqueue_job(store)
    kind = make_kind()
    late = take_job(store, kind)
    set_row(store, leased_until=LONG_AGO)
    requeue_lost(store, {KIND: kind}, seconds=30)
    with pytest.raises(FabulaError) as refused:
        finish_job(store, late, "late, while it waits")
    assert refused.value.code is Code.JOB_LEASE_LOST
    following = take_job(store, kind)
    for end in (lambda: finish_job(store, late, "late"), lambda: fail_job(store, late, kind)):
        with pytest.raises(FabulaError) as refused:
            end()
        assert refused.value.code is Code.JOB_LEASE_LOST
    finish_job(store, following, "in time")
    with pytest.raises(FabulaError):
        finish_job(store, late, "late, after it was done")
    assert (list_documents(store), load_job(store).tries) == (["in time"], 2)


def test_a_retried_job_does_not_take_the_old_holder_for_the_new_one(store: Store) -> None:
    """Tries begin anew then, so their number alone would fence nobody off."""
    create_project(store)
    enqueue_job(store)
    kind = make_kind(max_tries=1)
    late = take_job(store, kind)
    set_row(store, leased_until=LONG_AGO)
    requeue_lost(store, {KIND: kind}, seconds=30)
    enqueue_job(store)
    assert take_job(store, kind).tries == late.tries
    with pytest.raises(FabulaError) as refused:
        finish_job(store, late)
    assert refused.value.code is Code.JOB_LEASE_LOST


def test_a_result_and_the_end_of_its_job_are_kept_together_or_not_at_all(store: Store) -> None:
    create_project(store)
    enqueue_job(store)
    lease = take_job(store, make_kind())
    with pytest.raises(FabulaError):
        finish_job(store, lease, "a null \x00 cannot be kept")
    assert (load_job(store).state, list_documents(store)) == (JobState.RUNNING, [])


def test_failures_wait_longer_each_time_and_are_bounded(store: Store) -> None:
    create_project(store)
    enqueue_job(store)
    kind = JobKind(handler=make_kind().handler, max_tries=4, first_delay=10, max_delay=25)
    waits = []
    for _ in range(3):
        set_row(store, due=LONG_AGO)
        assert fail_job(store, take_job(store, kind), kind) is JobState.QUEUED
        waits.append(seconds_between(load_job(store).ended_at, load_job(store).due_at))
    for wait, expected in zip(waits, (10, 20, 25), strict=True):
        assert 0.8 * expected <= wait <= 1.2 * expected
    set_row(store, due=LONG_AGO)
    assert fail_job(store, take_job(store, kind), kind, Code.LLM_TIMEOUT) is JobState.FAILED
    stands = load_job(store)
    assert (stands.reason, stands.note, stands.tries) == ("LLM_TIMEOUT", "It broke.", 4)


def test_what_cannot_get_better_is_not_tried_again(store: Store) -> None:
    create_project(store)
    enqueue_job(store)
    kind = make_kind()
    assert fail_job(store, take_job(store, kind), kind, Code.LLM_NO_KEY) is JobState.FAILED


def test_a_job_that_was_asked_for_anew_begins_afresh_after_a_failure(store: Store) -> None:
    create_project(store)
    enqueue_job(store)
    kind = make_kind(max_tries=1)
    lease = take_job(store, kind)
    enqueue_job(store, work={"n": 2})
    assert fail_job(store, lease, kind) is JobState.QUEUED
    assert take_job(store, kind).work == {"n": 2}


def test_a_program_that_ends_gives_its_jobs_back_without_using_up_a_try(store: Store) -> None:
    create_project(store)
    enqueue_job(store)
    kind = make_kind(max_tries=1)
    lease = take_job(store, kind)
    with store.write(project=PROJECT) as tx:
        leases.return_job(tx, lease, kind, holder_died=False)
    assert load_job(store).reason == "JOB_STOPPED"
    assert take_job(store, kind).tries == 1


def test_a_job_whose_work_cannot_be_read_fails_and_is_in_nobodys_way(store: Store) -> None:
    create_project(store)
    enqueue_job(store, key="note:0")
    enqueue_job(store)
    with store.engine.begin() as connection:
        connection.execute(text("UPDATE jobs SET work = 'no { json', due = '2001' WHERE key = 'note:0'"))
    assert take_job(store, make_kind()).key == "note:1"
    assert (load_job(store, "note:0").state, load_job(store, "note:0").reason) == (JobState.FAILED, "JOB_INVALID")


def test_the_job_of_a_project_that_is_gone_ends_in_nothing(store: Store) -> None:
    create_project(store)
    enqueue_job(store)
    lease = take_job(store, make_kind())
    projects.remove(store, PROJECT)
    for end in (lambda: finish_job(store, lease), lambda: fail_job(store, lease, make_kind())):
        with pytest.raises(FabulaError) as refused:
            end()
        assert refused.value.code is Code.JOB_LEASE_LOST
    assert not leases.renew_lease(store, lease)
    assert leases.find_cancelled(store, [lease]) == []
    create_project(store)
    assert list_documents(store) == []


def _queue_many(store: Store, many: int, kind: str = KIND) -> None:
    rows = [{"key": f"{kind}:{n}", "kind": kind, "queued": LONG_AGO, "due": LONG_AGO} for n in range(many)]
    with store.write(project=PROJECT) as tx:
        tx.insert(jobs, *rows)


@contextmanager
def _record_statements(store: Store) -> Iterator[list[tuple[str, Any]]]:
    """The statements that the database is asked meanwhile."""
    said: list[tuple[str, Any]] = []

    def hear(_c: object, _u: object, statement: str, values: Any, _x: object, _m: object) -> None:
        said.append((" ".join(statement.split()), values))

    event.listen(store.engine, "before_cursor_execute", hear)
    yield said
    event.remove(store.engine, "before_cursor_execute", hear)


def _explain(store: Store, statement: str, values: Any) -> str:
    explain = "EXPLAIN" if store.file is None else "EXPLAIN QUERY PLAN"
    with store.engine.connect() as connection:
        found = connection.exec_driver_sql(f"{explain} {statement}", values).all()
    return "\n".join(str(row[-1]) for row in found)
