"""Backups: dated, bounded, made while somebody writes, each complete in itself."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.manuscript import documents, projects
from fabula.manuscript.tables import documents as rows
from fabula.store.backup import BACKUP_FOLDER, DAY, MAX_BACKUPS, back_up, back_up_daily, list_backups
from fabula.store.store import Store
from fabula.workspace.workspace import Workspace
from tests.store.workers import add_messages, create_project


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A small store, closed again."""
    opened = Store.open(tmp_path)
    projects.create(opened, "Copied", project_id="p")
    with opened.write(project="p") as tx:
        documents.add(tx, "One", text="Word for word.", document_id="one")
    opened.close()
    for copy in list_backups(_file(opened)):
        copy.unlink()
    return opened


def test_a_backup_is_dated_and_says_why_it_was_made(store: Store) -> None:
    copy = back_up(_file(store), reason="before-upgrade")
    assert copy.parent == store.folder / BACKUP_FOLDER
    assert re.fullmatch(r"fabula-\d{4}-\d\d-\d\dT\d{12}-000001-before-upgrade\.db", copy.name)
    assert list_backups(_file(store)) == [copy]


def test_a_backup_is_one_file_that_opens_as_a_store(store: Store, tmp_path: Path) -> None:
    copy = back_up(_file(store))
    assert os.listdir(copy.parent) == [copy.name], "no journal, no leftover"
    moved = tmp_path / "elsewhere" / "moved.db"
    moved.parent.mkdir()
    os.replace(copy, moved)
    _assert_whole(moved)
    opened = Store.open(moved)
    with opened.read(project="p") as reading:
        assert reading.require(rows, id="one").text == "Word for word."
    with opened.write(project="p") as tx:
        documents.write(tx, "one", "And it can be written to.")
    opened.close()


def test_the_number_of_backups_is_bounded_and_the_latest_are_kept(store: Store) -> None:
    made = [back_up(_file(store), reason=("daily", "before-upgrade")[number % 2]) for number in range(MAX_BACKUPS + 5)]
    assert list_backups(_file(store)) == made[-MAX_BACKUPS:]
    assert back_up(_file(store), keep=3) == list_backups(_file(store))[-1]
    assert len(list_backups(_file(store))) == 3


def test_a_neighbours_backups_are_neither_counted_nor_removed(store: Store) -> None:
    neighbour = store.folder / "fabula-two.db"
    Store.open(neighbour).close()
    theirs = [back_up(neighbour)]
    for _ in range(3):
        back_up(_file(store), keep=1)
    assert list_backups(neighbour) == theirs
    assert len(list_backups(_file(store))) == 1


def test_a_file_with_an_odd_name_has_its_backups_bounded_too(tmp_path: Path) -> None:
    file = tmp_path / "draft [2] (new).db"
    Store.open(file).close()
    for _ in range(3):
        back_up(file, keep=2)
    assert len(list_backups(file)) == 2


def test_once_a_day_is_enough(store: Store) -> None:
    first = back_up_daily(_file(store))
    assert first is not None
    assert back_up_daily(_file(store)) is None
    yesterday = datetime.now(UTC) - timedelta(seconds=DAY + 60)
    first = first.rename(first.with_name(f"fabula-{yesterday:%Y-%m-%dT%H%M%S%f}-daily.db"))
    os.utime(first)  # a copied file looks new, and that does not count
    second = back_up_daily(_file(store))
    assert second is not None
    assert list_backups(_file(store)) == [first, second]
    assert back_up_daily(_file(store)) is None


def test_copies_from_the_future_do_not_push_out_the_one_just_made(store: Store) -> None:
    folder = store.folder / BACKUP_FOLDER
    folder.mkdir(exist_ok=True)
    for number in range(MAX_BACKUPS):
        shutil.copyfile(_file(store), folder / f"fabula-2199-01-01T00000000000{number}-daily.db")
    made = [back_up(_file(store), reason="before-upgrade") for _ in range(3)]
    assert list_backups(_file(store))[-3:] == made
    assert len(list_backups(_file(store))) == MAX_BACKUPS


def test_a_copy_from_the_future_does_not_stop_the_daily_one(store: Store) -> None:
    folder = store.folder / BACKUP_FOLDER
    folder.mkdir(exist_ok=True)
    shutil.copyfile(_file(store), folder / "fabula-2199-01-01T000000000000-000001-daily.db")
    assert back_up_daily(_file(store)) is not None
    assert back_up_daily(_file(store)) is None


def test_what_a_killed_backup_left_behind_is_swept(store: Store) -> None:
    folder = store.folder / BACKUP_FOLDER
    folder.mkdir(exist_ok=True)
    left = [folder / "fabula-2026-01-01T000000000000-daily.partial", folder / ".save-abc.part"]
    for path in left:
        path.write_bytes(b"half")
        os.utime(path, (1, 1))
    copy = back_up(_file(store))
    assert os.listdir(folder) == [copy.name]


def test_opening_a_store_makes_the_backup_of_the_day(store: Store) -> None:
    for _ in range(3):
        Store.open(store.folder).close()
    (copy,) = list_backups(_file(store))
    _assert_whole(copy)


def test_a_backup_made_while_somebody_writes_is_of_one_moment(store: Store) -> None:
    opened = Store.open(store.folder)
    create_project(opened, "busy")
    stop = threading.Event()
    failed: list[BaseException] = []

    def write() -> None:
        number = 0
        try:
            while not stop.is_set():
                with opened.write(project="busy") as tx:
                    documents.write(tx, "together", str(number) + " word" * 2_000)
                    add_messages(tx, str(number))
                number += 1
        except BaseException as error:
            failed.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    versions = []
    for _ in range(8):
        before, _user = opened.versions(project="busy")
        while opened.versions(project="busy")[0] < before + 3 and writer.is_alive():
            time.sleep(0.002)
        copy = back_up(_file(store))
        _assert_whole(copy)
        seen = Store.open(copy)
        with seen.read(project="busy") as reading:
            version = reading.version("project")
            feed = reading.changes("project", 0)
            assert reading.require(rows, id="together").version == version - 1
        seen.close()
        assert feed is not None
        assert before + 3 <= version <= opened.versions(project="busy")[0]
        versions.append(version)
    stop.set()
    writer.join()
    opened.close()
    assert failed == []
    assert versions == sorted(set(versions))


def test_where_no_backup_can_be_made_the_refusal_says_so_and_leaves_nothing_behind(store: Store) -> None:
    shutil.rmtree(store.folder / BACKUP_FOLDER, ignore_errors=True)
    (store.folder / BACKUP_FOLDER).write_text("somebody's file")
    with pytest.raises(FabulaError) as refused:
        back_up(_file(store))
    assert refused.value.code is Code.STORE_READ_ONLY
    opened = Store.open(store.folder)  # which is not kept from being used
    assert opened.project_ids() == ["p"]
    opened.close()
    assert (store.folder / BACKUP_FOLDER).read_text() == "somebody's file"


def test_a_store_that_is_damaged_is_not_copied_over_good_copies(store: Store) -> None:
    good = back_up(_file(store))
    with _file(store).open("r+b") as file:
        file.write(b"Dear diary, this is no database any more.")
    with pytest.raises(FabulaError) as refused:
        back_up(_file(store))
    assert refused.value.code is Code.STORE_DAMAGED
    assert os.listdir(good.parent) == [good.name]


def _file(store: Store) -> Path:
    assert store.file is not None
    return store.file


def _assert_whole(file: Path) -> None:
    connection = sqlite3.connect(file)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()


@pytest.mark.skipif(os.name == "nt", reason="permissions are those of the account there")
def test_a_new_store_and_its_copies_are_for_their_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    before = os.umask(0o022)
    try:
        with Workspace.open(folder) as workspace:
            workspace.create_project("Harbour")
            copy = workspace.make_backup().path
            workspace.delete_project("Harbour")
            files = {one: one.stat().st_mode for one in folder.rglob("*.db*")}
    finally:
        os.umask(before)
    assert copy in files
    assert {mode & 0o077 for mode in files.values()} == {0}
    folders = (folder, folder / "backups", folder / "deleted")
    assert [one.stat().st_mode & 0o777 for one in folders] == [0o700] * 3
