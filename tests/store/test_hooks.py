"""Following: what is done within a change, and what is rung after it."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

import pytest

from fabula.core.errors import FabulaError
from fabula.jobs.tables import jobs
from fabula.manuscript import documents, projects
from fabula.manuscript.tables import documents as rows
from fabula.store.hooks import Hooks, QueuedEvents
from fabula.store.store import Store
from fabula.store.transaction import WriteTransaction


def _queue(tx: WriteTransaction, items: Sequence[str]) -> None:
    tx.insert(jobs, *({"key": item} for item in items))


def _refuse(tx: WriteTransaction, _: Sequence[str]) -> None:
    tx.insert(jobs, {"key": "a null \x00"})


def _keys(store: Store) -> list[str]:
    with store.read(project="p") as reading:
        return [row.key for row in reading.rows(jobs, order=(jobs.c.key,))]


def test_what_follows_is_kept_with_the_change_and_once(store: Store) -> None:
    projects.create(store, "Followed", project_id="p")
    store.hooks.add_before_commit(rows, _queue)
    store.hooks.add_before_commit(rows, _queue)
    with store.write(project="p") as tx:
        documents.add(tx, "One", document_id="one")
        documents.add(tx, "Two", document_id="two")
        documents.write(tx, "one", "Some text.")
    assert _keys(store) == ["one", "two"]
    with store.write(project="p") as tx:
        projects.update(tx, {"title": "Nothing about documents"})
    assert _keys(store) == ["one", "two"]


def test_a_change_whose_consequence_fails_is_not_kept(store: Store) -> None:
    projects.create(store, "Followed", project_id="p")
    store.hooks.add_before_commit(rows, _refuse)
    with pytest.raises(FabulaError), store.write(project="p") as tx:
        documents.add(tx, "One")
    with store.read(project="p") as reading:
        assert (reading.rows(rows), _keys(store)) == ([], [])


def test_the_bell_rings_after_the_change_was_kept_and_only_then(store: Store) -> None:
    projects.create(store, "Heard", project_id="p")
    heard: list[int] = []

    def bell() -> None:
        with store.read(project="p") as reading:
            heard.append(reading.count(rows))

    store.hooks.add_after_commit(rows, bell)
    with store.write(project="p") as tx:
        documents.add(tx, "One")
        assert heard == []
    assert heard == [1]
    with pytest.raises(FabulaError), store.write(project="p") as tx:
        documents.add(tx, "\x00")
    with store.write(project="p") as tx:
        tx.insert(jobs, {"key": "another table"})
    assert heard == [1]
    store.hooks.remove_after_commit(bell)
    with store.write(project="p") as tx:
        documents.add(tx, "Two")
    assert heard == [1]


def test_events_are_told_in_the_order_of_commits() -> None:
    hooks, told = Hooks(), list[str]()
    hooks.subscribe(str, told.append)

    def queue(*events: str) -> QueuedEvents:
        tx = SimpleNamespace(events=list(events))
        return hooks.queue_events([cast("WriteTransaction", tx)])

    first, second, third, fourth = queue("one"), queue("two", "two more"), queue("three"), queue("four")
    hooks.tell_events(third)
    hooks.tell_events(second)
    assert told == [], "the first is not told yet"
    hooks.withdraw_events(first)
    assert told == ["two", "two more", "three"]
    hooks.subscribe(str, lambda event: hooks.tell_events(queue("five")) if event == "four" else None)
    hooks.tell_events(fourth)
    assert told == ["two", "two more", "three", "four", "five"]
