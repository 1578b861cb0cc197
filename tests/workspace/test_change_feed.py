"""Changes are followed across processes, each told once."""

from __future__ import annotations

from fabula.store.store import Store
from fabula.workspace.change_feed import ChangeFeed, ProjectChange
from fabula.workspace.project import ProjectHandle


def test_each_change_is_told_once_whoever_made_it(coast: ProjectHandle, store: Store) -> None:
    feed, every = ChangeFeed(store, coast.id), ChangeFeed(store)
    assert feed.read_new() == []
    entry = coast.codex.add("Lamp")
    assert ProjectChange(coast.id, "codex", entry.id) in feed.read_new()
    assert feed.read_new() == []
    assert ProjectChange(coast.id, "codex", entry.id) in every.read_new()


def test_a_new_project_is_a_change(coast: ProjectHandle, store: Store) -> None:
    from fabula.workspace.workspace import Workspace

    one, every = ChangeFeed(store, coast.id), ChangeFeed(store)
    made = Workspace(store).create_project("Another")
    assert one.read_new() == []
    assert every.read_new() == [ProjectChange(made.id)]
