"""Connections between two transactions: the next one gets the connection of the last one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError

from fabula.core.errors import Code, FabulaError
from fabula.manuscript import documents, projects
from fabula.manuscript.tables import documents as rows
from fabula.store import connections
from fabula.store.store import Store


@pytest.fixture
def coast(tmp_path: Path) -> Iterator[Store]:
    """A store with a project."""
    store = Store.open(tmp_path)
    projects.create(store, "Coast", project_id="coast")
    yield store
    store.close()


def count_taken(store: Store) -> list[object]:
    """What grows by one whenever a connection is taken out of the pool."""
    taken: list[object] = []
    event.listen(store.engine, "checkout", lambda connection, *_: taken.append(connection))
    return taken


def write(store: Store, title: str) -> None:
    with store.write(project="coast") as tx:
        documents.add(tx, title)


def test_changes_one_after_the_other_use_one_connection(coast: Store) -> None:
    taken = count_taken(coast)
    for number in range(5):
        write(coast, f"Chapter {number}")
        with coast.read(project="coast") as reading:
            assert reading.count(rows) == number + 1
    assert not taken


def test_a_change_that_failed_leaves_no_transaction_behind(coast: Store) -> None:
    def fail() -> None:
        with coast.write(project="coast") as tx:
            documents.add(tx, "Half a change")
            tx.require(rows, id="nowhere")

    with pytest.raises(FabulaError):
        fail()
    with coast.read(project="coast") as reading:
        assert reading.count(rows) == 0
    write(coast, "A whole one")
    other = Store.open(coast.folder)
    write(other, "Of somebody else")  # who would wait for a lock that was kept
    other.close()


def test_a_process_that_was_forked_uses_no_connection_of_its_parent(
    coast: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = count_taken(coast)
    with monkeypatch.context() as forked:
        forked.setattr(os, "getpid", lambda: -1)
        write(coast, "In the child")
        assert len(taken) == 1
        coast._idle.close()
    write(coast, "In the parent")
    assert len(taken) == 1


def test_a_writer_takes_the_lock_before_it_reads_and_a_reader_takes_none(coast: Store) -> None:
    with coast.engine.connect() as one, coast.engine.connect() as other:
        for connection in (one, other):
            connection.exec_driver_sql("PRAGMA busy_timeout = 1")
            connection.rollback()
        with connections.begin(one, writing=True):
            with connections.begin(other, writing=False):
                assert other.exec_driver_sql("SELECT count(*) FROM documents").scalar_one() == 0
            with pytest.raises(DBAPIError, match="locked"):
                connections.begin(other, writing=True)
        with connections.begin(other, writing=False):
            pass  # the failed one left no mark on its connection
        with connections.begin(other, writing=True):
            pass


def test_a_store_that_was_closed_keeps_no_connection(coast: Store) -> None:
    with coast.read(project="coast"):
        coast.close()
    assert not any(coast._idle._idle.values())
    with pytest.raises(FabulaError) as refused:
        write(coast, "Too late")
    assert refused.value.code is Code.STORE_CLOSED
