"""Changes are followed across processes, each told once and in order, on each engine."""

from __future__ import annotations

import queue
import threading

import pytest

from fabula.store import change_signal
from fabula.store.store import Store
from fabula.workspace.change_feed import ChangeBatch, ChangeFollower, read_changes
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace


@pytest.fixture
def other(prepared: str, coast: ProjectHandle) -> Store:
    """The same store, opened a second time as another process would."""
    return Store.open(prepared)


def test_each_change_is_told_once_whoever_made_it(coast: ProjectHandle, other: Store) -> None:
    told: queue.Queue[ChangeBatch] = queue.Queue()
    follower = ChangeFollower(other)
    version, end = follower.follow(coast.id, told.put)
    added = [coast.codex.add(f"Lamp {number}").id for number in range(20)]
    found: list[str] = []
    while len(found) < 20:
        batch = told.get(timeout=20)
        assert batch.since == version
        assert batch.changes is not None
        found += [one.item for one in batch.changes if one.area == "codex"]
        version = batch.version
    assert found == added
    end()
    coast.codex.add("Unheard")
    follower.close()
    other.close()
    assert told.empty()


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_postgres_tells_by_itself_and_nobody_looks_at_versions(
    coast: ProjectHandle, other: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_signal, "CHECK_SECONDS", 1000.0)
    told: queue.Queue[ChangeBatch] = queue.Queue()
    follower = ChangeFollower(other)
    follower.follow(coast.id, told.put)
    for number in range(3):
        entry = coast.codex.add(f"Lamp {number}")
        batch = told.get(timeout=20)
        assert batch.changes is not None
        assert entry.id in {one.item for one in batch.changes}
    follower.close()
    other.close()


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_a_connection_that_is_lost_is_made_again_and_nothing_is_missed(coast: ProjectHandle, other: Store) -> None:
    told: queue.Queue[ChangeBatch] = queue.Queue()
    follower = ChangeFollower(other)
    follower.follow(coast.id, told.put)
    coast.codex.add("Before")
    told.get(timeout=20)
    with other.engine.connect() as connection:
        connection.exec_driver_sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query IN "
            "('LISTEN fabula_changes', 'SELECT 1') AND datname = current_database()"
        )
    entry = coast.codex.add("After")
    batch = told.get(timeout=20)
    assert batch.changes is not None
    assert entry.id in {one.item for one in batch.changes}
    follower.close()
    other.close()


def test_the_thread_ends_when_nobody_listens_and_starts_again(
    coast: ProjectHandle, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabula.store.change_signal.CHECK_SECONDS", 0.5)
    follower = ChangeFollower(store)
    for _ in range(2):
        told = threading.Event()
        _, end = follower.follow(coast.id, lambda _, told=told: told.set())  # type: ignore[misc]
        coast.codex.edit("mara", description="A pilot.")
        assert told.wait(20)
        end()
        for _ in range(500):
            if not follower.is_running:
                break
            threading.Event().wait(0.02)
        assert not follower.is_running


def test_projects_are_followed_apart(workspace: Workspace) -> None:
    first, second = workspace.create_project("One"), workspace.create_project("Two")
    told: queue.Queue[ChangeBatch] = queue.Queue()
    workspace.change_follower.follow(first.id, told.put)
    second.codex.add("Lamp")
    first.codex.add("Oar")
    assert told.get(timeout=20).project_id == first.id
    assert told.empty()


def test_a_feed_that_does_not_reach_back_says_so(workspace: Workspace) -> None:
    project = workspace.create_project("One")
    version = workspace.store.versions(project=project.id)[0]
    assert read_changes(workspace.store, project.id, version).changes == ()
    assert read_changes(workspace.store, project.id, version + 5).changes is None
