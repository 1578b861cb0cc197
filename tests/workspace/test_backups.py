"""Copies are listed with what they hold, and a project or the whole store comes back from one."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path
from typing import TypedDict

import pytest

from fabula.codex import Codex, Entry, edits
from fabula.core.errors import Code, FabulaError
from fabula.manuscript import documents, projects, series
from fabula.store.backup import BACKUP_FOLDER, back_up, list_backups
from fabula.store.connections import DATABASE_FILE
from fabula.store.copies import StoreCopy, read_copy
from fabula.store.doctor import HealthState, examine
from fabula.store.restoring import restore_project, restore_store
from fabula.store.store import Store
from fabula.workspace.backups import list_store_copies, restore_copy
from fabula.workspace.workspace import Workspace
from tests.store.older import ACCESS_TABLES, CONVERSATION_COLUMNS, LATER_TABLES, PRESENCE_STATEMENTS, RESPONSE_TABLES


class CopyOptions(TypedDict, total=False):
    """What of a copy is restored."""

    project: str
    whole_store: bool


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a store with two projects and one copy; both projects were changed after it was made."""
    store = Store.open(tmp_path / "data")
    for name in ("one", "two"):
        projects.create(store, name.title(), project_id=name)
        with store.write(project=name) as tx:
            documents.add(tx, "1", text="As it was.", document_id="ch-1")
    assert store.file is not None
    back_up(store.file)
    for name in ("one", "two"):
        with store.write(project=name) as tx:
            documents.write(tx, "ch-1", "Spoilt.")
    projects.create(store, "Later", project_id="later")
    store.close()
    return tmp_path / "data"


def texts(folder: Path) -> dict[str, str]:
    store = Store.open(folder, inspect_only=True)
    try:
        found = {}
        for project in store.project_ids():
            with store.read(project=project) as reading:
                found[project] = "".join(draft.text for draft in documents.make_draft(reading).drafts)
        return found
    finally:
        store.close()


def test_a_copy_is_listed_with_the_projects_it_holds(folder: Path) -> None:
    file = folder / DATABASE_FILE
    os.utime(list_backups(file)[0], (0, 0))
    (copy,) = list_store_copies(str(folder))
    assert [project.title for project in copy.projects] == ["One", "Two"]
    assert copy.state[:4] >= "2024", "the contents decide, not the time of the file"
    (folder / BACKUP_FOLDER / "odd.fabula").write_bytes(b"no save")
    assert [bool(copy.problem) for copy in list_store_copies(str(folder))] == [False, True]


def test_one_project_comes_back_and_the_others_stay(folder: Path) -> None:
    restored = restore_copy(str(folder), "1", project="One")
    assert restored.backup is not None
    assert texts(folder) == {"one": "As it was.", "two": "Spoilt.", "later": ""}
    again = restore_copy(str(folder), str(restored.backup))
    assert again.backup is not None
    assert texts(folder)["one"] == "Spoilt."


def test_a_project_that_was_removed_comes_back(folder: Path) -> None:
    with Workspace.open(folder) as workspace:
        projects.remove(workspace.store, "two")
    restored = restore_copy(str(folder), list_store_copies(str(folder))[-1].path.name, project="two")
    assert restored.backup is None
    assert texts(folder)["two"] == "As it was."


def test_the_whole_store_comes_back_after_a_copy_of_the_present_one(folder: Path) -> None:
    file = folder / DATABASE_FILE
    with Workspace.open(folder) as other:  # a process that has the store open sees the change
        view = other.project("one").view
        restored = restore_store(file, read_copy(list_backups(file)[0]))
        assert other.project("one").view is not view
    assert texts(folder) == {"one": "As it was.", "two": "As it was."}
    assert restored.backup is not None
    assert {project.id for project in read_copy(restored.backup).projects} == {"one", "two", "later"}
    store = Store.open(folder)
    assert all(found.state is not HealthState.FAILED for found in examine(store))
    with store.write(project="one") as tx:
        documents.write(tx, "ch-1", "And on it goes.")
    store.close()


@pytest.mark.parametrize("damage", ["lost", "spoilt"])
def test_a_lost_or_damaged_store_comes_back(folder: Path, damage: str) -> None:
    file = folder / DATABASE_FILE
    for suffix in ("-wal", "-shm"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)
    if damage == "lost":
        file.unlink()
    else:
        file.write_bytes(b"not a database at all" * 400)
    restored = restore_copy(str(folder), "1", whole_store=True)
    assert (restored.backup is None) is (damage == "lost")
    assert texts(folder) == {"one": "As it was.", "two": "As it was."}


def test_a_damaged_copy_changes_nothing(folder: Path) -> None:
    (copy,) = list_backups(folder / DATABASE_FILE)
    before = texts(folder)
    data = bytearray(copy.read_bytes())
    data[8192:] = b"\xff" * (len(data) - 8192)
    copy.write_bytes(data)
    for arguments in ({"project": "One"}, {"whole_store": True}):
        with pytest.raises(FabulaError):
            restore_copy(str(folder), str(copy), **arguments)
    assert texts(folder) == before


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("7", {}, Code.STORE_NOT_FOUND),
        ("1", {}, Code.PROJECT_NOT_FOUND),
        ("1", {"project": "Nobody"}, Code.PROJECT_NOT_FOUND),
        ("1", {"project": "One", "whole_store": True}, Code.REQUEST_INVALID),
    ],
)
def test_what_cannot_be_restored_is_refused(folder: Path, name: str, arguments: CopyOptions, code: Code) -> None:
    before = texts(folder)
    with pytest.raises(FabulaError) as refused:
        restore_copy(str(folder), name, **arguments)
    assert refused.value.code is code
    assert texts(folder) == before


def test_a_copy_of_an_older_version_is_upgraded(folder: Path, tmp_path: Path) -> None:
    older = tmp_path / "older.db"
    shutil.copyfile(list_backups(folder / DATABASE_FILE)[0], older)
    with sqlite3.connect(older) as connection:
        for column in ("since_document", "since_offset", "until_document", "until_offset", "known_to"):
            connection.execute(f"ALTER TABLE codex_relations DROP COLUMN {column}")
        connection.execute("ALTER TABLE projects DROP COLUMN book_order")
        connection.execute("ALTER TABLE participants DROP COLUMN card")
        for column in ("number", "slug", "latest", "changed"):
            connection.execute(f"ALTER TABLE heads DROP COLUMN {column}")
        for table in ("runs", "renames"):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN number")
        for statement in PRESENCE_STATEMENTS:
            connection.execute(statement)
        for table, added in CONVERSATION_COLUMNS.items():
            for column in added:
                connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        connection.execute("DROP TABLE undo_steps")
        connection.execute("DROP TABLE user_undo_steps")
        for table in (*RESPONSE_TABLES, *ACCESS_TABLES, *LATER_TABLES):
            connection.execute(f"DROP TABLE {table}")
        connection.execute("UPDATE alembic_version SET version_num = '0007'")
    connection.close()
    restore_copy(str(folder), str(older), project="One")
    assert texts(folder)["one"] == "As it was."


def test_a_restored_book_is_in_its_series_again(store: Store, tmp_path: Path) -> None:
    if store.file is None:
        return
    series.create(store, "The Coast", project_id="coast")
    with store.write(project="coast") as tx:
        edits.put(tx, Entry(id="mara", type="character", name="Mara"))
    projects.create(store, "One", project_id="one")
    series.add_book(store, "one", "coast")
    copy: StoreCopy = read_copy(back_up(store.file))
    projects.remove(store, "one")
    with store.write(project="coast") as tx:
        edits.update(tx, "mara", {"description": "A later thought."})
    restore_project(store, copy, "one")
    with Workspace(store) as workspace:
        found = workspace.project("one").view.snapshot(Codex)
        assert found is not None
        assert found.by_id["mara"].description == "A later thought."
        assert [one.id for one in workspace.list_books("coast")] == ["one"]


def test_a_wrong_name_is_answered_with_the_three_nearest_titles(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "data")
    for number in range(20):
        projects.create(store, f"Book {number}", project_id=f"b{number}")
    projects.create(store, "The Lantern Coast", project_id="coast")
    assert store.file is not None
    copy = read_copy(back_up(store.file))
    for name, near in (("The Lantern Cost", "The Lantern Coast"), (None, "21")):
        with pytest.raises(FabulaError) as refused:
            restore_project(store, copy, name)
        assert refused.value.code is Code.PROJECT_NOT_FOUND
        assert near in str(refused.value)
        assert sum(f"Book {number}" in str(refused.value) for number in range(20)) <= 3
    assert [one.id for one in restore_project(store, copy, "lantern").projects] == ["coast"]
    store.close()
