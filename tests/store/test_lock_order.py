"""Every writer takes its locks in one order: the person, books, series. So no two of them wait for each other."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Table, event, text

from fabula.core.errors import Code, FabulaError
from fabula.jobs.tables import breakers, jobs, months
from fabula.manuscript import projects, series
from fabula.store import undo
from fabula.store.store import LOCAL_USER, Store
from fabula.store.tables import projects as project_rows
from fabula.workspace.deleted_projects import delete_project, restore_project
from tests.jobs.fake_jobs import KIND, PROJECT, create_project, enqueue_job

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@pytest.fixture
def books(store: Store) -> list[str]:
    """Two series, `s1` and `s2`, with one book each."""
    for number in ("1", "2"):
        series.create(store, f"Series {number}", project_id=f"s{number}")
        projects.create(store, f"Book {number}", project_id=f"b{number}")
        series.add_book(store, f"b{number}", f"s{number}")
    return ["b1", "b2"]


def change_series(store: Store) -> None:
    with store.write(project="s1", user=LOCAL_USER) as tx:
        projects.rename(tx, "Other")


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
@pytest.mark.parametrize("other", [lambda store: delete_project(store, "s1"), change_series])
def test_deleting_or_editing_a_series_while_its_book_is_edited_is_no_deadlock(
    store: Store, books: list[str], other: Callable[[Store], object]
) -> None:
    with ThreadPoolExecutor(1) as threads:
        with store.write(project="b1", user=LOCAL_USER) as tx:
            running = threads.submit(other, store)
            wait_for_waiter(store)
            shared = tx.series()
            assert shared is not None
            projects.rename(shared, "Changed from its book")
        running.result()


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_a_book_does_not_join_a_series_that_is_being_deleted(store: Store, books: list[str]) -> None:
    with ThreadPoolExecutor(1) as threads:
        with store.write(project="s1", books=["b1"]) as tx:
            joining = threads.submit(series.add_book, store, "b2", "s1")
            wait_for_waiter(store)
            projects.remove_rows(tx)
        with pytest.raises(FabulaError) as caught:
            joining.result()
    assert caught.value.code is Code.PROJECT_INVALID
    with store.read(project="b2") as reading:
        assert reading.require(project_rows).series_id == "s2"


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_locks_are_taken_in_one_order(store: Store, books: list[str]) -> None:
    with record_locks(store) as taken:
        series.add_book(store, "b1", "s2")
        series.add_book(store, "b1", "s1")
        with store.write(project="b1") as tx:
            undo.undo(tx)
        with store.write(project="b1", user=LOCAL_USER) as tx:
            assert tx.series() is not None
        delete_project(store, "s2")
        restore_project(store, "Series 2")
    assert len(taken) >= 6
    ranks = [list(map(rank, owners)) for owners in taken]
    assert ranks == list(map(sorted, ranks)), taken
    assert any({"project:s1", "project:s2"} <= set(owners) for owners in taken)
    assert any({"project:b1", "project:s2"} <= set(owners) for owners in taken)


def test_a_series_is_not_deleted_beside_a_book_that_joined_meanwhile(
    store: Store, books: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabula.workspace.deleted_projects.list_member_ids", list_joining("b1"))
    with pytest.raises(FabulaError) as caught:
        delete_project(store, "s1")
    assert caught.value.code is Code.STORE_CONFLICT
    assert "s1" in store.project_ids()
    assert not list((store.folder / "deleted").glob("*.fabula"))


def list_joining(book: str) -> Callable[[Store, str], list[str]]:
    """Nothing, and then a book."""
    answers = iter([[], [book]])
    return lambda *_: next(answers)


def rank(owner: str) -> tuple[int, str]:
    return (0 if owner.startswith("user:") else 1 if owner.startswith("project:b") else 2), owner


@contextmanager
def record_locks(store: Store) -> Iterator[list[list[str]]]:
    """The owners that each transaction locks, in their order."""
    taken: list[list[str]] = []
    by_connection: dict[int, list[str]] = {}

    def begin(connection: Any) -> None:
        by_connection[id(connection)] = []
        taken.append(by_connection[id(connection)])

    def execute(connection: Any, _: Any, statement: str, parameters: Any, *__: Any) -> None:
        if re.search(r"FROM heads\b.*FOR UPDATE", statement, re.S):
            (owner,) = parameters.values()
            if owner not in by_connection[id(connection)]:
                by_connection[id(connection)].append(owner)

    event.listen(store.engine, "begin", begin)
    event.listen(store.engine, "before_cursor_execute", execute)
    yield taken
    event.remove(store.engine, "begin", begin)
    event.remove(store.engine, "before_cursor_execute", execute)


def wait_for_waiter(store: Store) -> None:
    """Wait until another connection waits for a lock."""
    with store.engine.connect() as connection:
        while not connection.execute(text(WAITING)).scalar_one():
            connection.rollback()
            time.sleep(0.01)


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
@pytest.mark.parametrize("table", [jobs, breakers, months], ids=lambda table: str(table.name))
def test_deleting_a_project_while_a_worker_takes_a_job_of_it_is_no_deadlock(store: Store, table: Table) -> None:
    create_project(store)
    enqueue_job(store)
    with store.write(project=PROJECT) as tx:
        tx.insert(breakers, {"kind": KIND, "failures": 9, "why": ""})
        tx.insert(months, {"month": "2026-01", "kind": KIND})
    with ThreadPoolExecutor(1) as threads:
        with store.all_projects(jobs, writable=True) as all_jobs:
            assert all_jobs.rows(jobs.c.project_id == PROJECT, lock=True)
            deleting = threads.submit(delete_project, store, PROJECT)
            wait_for_waiter(store)
            all_jobs.for_owner(PROJECT).update_rows(table, {"kind": KIND})
        assert deleting.result().id == PROJECT
