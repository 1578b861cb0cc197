"""Changes: whatever a person did last can be taken back and made again; deleted projects come back (man-7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.store.schema import all_tables, table_info
from fabula.store.store import LOCAL_USER, Store
from fabula.workspace import deleted_projects
from fabula.workspace.deleted_projects import DeletedProject
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import read_view
from fabula.workspace.workspace import Workspace

Contents = dict[str, list[dict[str, Any]]]


@pytest.fixture
def workspace(store: Store) -> Iterator[Workspace]:
    opened = Workspace(store)
    opened.copy_project(read_view("sample:lantern_coast"), title="Coast")
    yield opened
    opened.close()


def contents(project: ProjectHandle) -> Contents:
    """Every tracked row of the project and the person, without versions and times of change."""
    assert project.store is not None
    with project.store.read(project=project.id, user=LOCAL_USER) as reading:
        return {
            table.name: [
                {name: value for name, value in row._mapping.items() if name not in ("version", "changed")}
                for row in reading.rows(table, order=[*table.primary_key])
            ]
            for table in all_tables()
            if "table_info" in table.info and table_info(table).tracked
        }


VERBS: dict[str, Callable[[ProjectHandle], object]] = {
    "codex add": lambda p: p.codex.add("Zed", kind="character"),
    "codex edit": lambda p: p.codex.edit(p.codex.list_entries()[0].id, description="Other words."),
    "codex remove": lambda p: p.codex.remove(p.codex.list_entries()[0].id),
    "codex relate": lambda p: p.codex.relate(p.codex.list_entries()[0].id, p.codex.list_entries()[1].id, kind="knows"),
    "codex progression": lambda p: p.codex.add_progression(p.codex.list_entries()[0].id, "Gone.", since="ch-02"),
    "codex pin": lambda p: p.codex.pin(p.codex.list_entries()[0].id, "ch-01"),
    "codex rename": lambda p: p.codex.rename("Mara", "Eleanor", history=True),
    "constraint add": lambda p: p.constraints.add("No cats."),
    "constraint edit": lambda p: p.constraints.edit(p.constraints.list_constraints()[0].constraint.id, text="No dogs."),
    "constraint remove": lambda p: p.constraints.remove(p.constraints.list_constraints()[0].constraint.id),
    "outline add": lambda p: p.outline.add("ch-01", "It rains."),
    "outline done": lambda p: p.outline.set_done(p.outline.list_beats()[0].id),
    "outline remove": lambda p: p.outline.remove(p.outline.list_beats()[0].id),
    "synopsis write": lambda p: p.synopses.write("ch-01", "Rain."),
    "synopsis remove": lambda p: (p.synopses.write("ch-01", "Rain."), p.synopses.remove("ch-01")),
    "preset write": lambda p: p.presets.write("Mine", b'{"nodes": []}'),
    "lorebook create": lambda p: p.lorebooks.create("Gulls"),
    "lorebook entry": lambda p: (p.lorebooks.create("Gulls"), p.lorebooks.add_entry("Gulls", {"content": "Loud."})),
    "memory remember": lambda p: p.memory.remember("She likes rain."),
    "memory of the person": lambda p: p.memory.remember("I like rain.", of_user=True),
    "memory forget": lambda p: p.memory.forget(p.memory.list_memories()[0].item.id),
}


@pytest.mark.parametrize("verb", VERBS)
def test_whatever_was_done_last_is_undone_and_made_again(workspace: Workspace, verb: str) -> None:
    project = workspace.project("Coast")
    steps = [contents(project)]
    VERBS[verb](project)
    after = contents(project)
    assert after != steps[0]
    count = len(project.changes.list_changes())
    for _ in range(count):
        assert project.changes.undo().label.render("zh")
    assert contents(project) == steps[0]
    for _ in range(count):
        project.changes.redo()
    assert contents(project) == after
    assert project.view is not None


def test_a_prompt_after_an_undo_is_the_one_before_the_change(workspace: Workspace) -> None:
    project = workspace.project("Coast")
    before = project.inspect(project.request()).messages
    project.codex.rename("Mara", "Eleanor")
    assert project.inspect(project.request()).messages != before
    project.changes.undo()
    assert project.inspect(project.request()).messages == before


def test_a_setting_of_a_project_is_undone(workspace: Workspace) -> None:
    settings = workspace.settings("Coast")
    settings.set("judge.tries", 3)
    assert "judge.tries" in str(workspace.project("Coast").changes.undo().label)
    assert workspace.settings("Coast").get("judge.tries").value != 3


def test_a_deleted_project_comes_back_whole(workspace: Workspace) -> None:
    project = workspace.project("Coast")
    before, project_id = contents(project), project.id
    deleted = workspace.delete_project("Coast")
    assert workspace.projects() == []
    assert isinstance(workspace.find_last_change(), DeletedProject)
    assert [one.title for one in workspace.list_deleted_projects()] == ["Coast"]
    assert workspace.restore_project("Coast").id == deleted.id == project_id
    assert contents(workspace.project("Coast")) == before
    assert workspace.list_deleted_projects() == []


def test_deleted_projects_are_kept_in_bounded_number(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deleted_projects, "MAX_DELETED", 2)
    for number in range(3):
        workspace.create_project(f"Book {number}")
        workspace.delete_project(f"Book {number}")
    assert [one.title for one in workspace.list_deleted_projects()] == ["Book 2", "Book 1"]
    with pytest.raises(FabulaError) as refused:
        workspace.restore_project("Lost")
    assert refused.value.code is Code.PROJECT_NOT_FOUND


def test_a_project_whose_id_is_taken_again_is_not_overwritten_by_a_restore(workspace: Workspace) -> None:
    deleted = workspace.delete_project("Coast")
    workspace.restore_project("Coast")
    again = workspace.delete_project("Coast")
    assert again.id == deleted.id
    workspace.copy_project(read_view("sample:lantern_coast"), title="Coast")
    workspace.restore_project(again.id)
    assert len(workspace.projects()) == 2


def test_a_title_is_changed_and_an_empty_one_is_refused(workspace: Workspace) -> None:
    assert workspace.rename_project("Coast", " The Lamp ").title == "The Lamp"
    with pytest.raises(FabulaError) as refused:
        workspace.rename_project("The Lamp", "  ")
    assert refused.value.code is Code.PROJECT_INVALID
    workspace.project("The Lamp").changes.undo()
    assert [one.title for one in workspace.projects()] == ["Coast"]
