"""A disk that is full, and places that may not be written to: a clear sentence, and nothing broken."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import event

from fabula.core.errors import Code, FabulaError
from fabula.manuscript import documents, projects
from fabula.manuscript.tables import documents as rows
from fabula.store.backup import BACKUP_FOLDER, list_backups
from fabula.store.connections import DATABASE_FILE
from fabula.store.store import Store
from tests.store.workers import run_program


@pytest.fixture
def commons() -> Iterator[Path]:
    """A folder that everybody may enter, but only we may write to."""
    with tempfile.TemporaryDirectory(prefix="fabula-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_when_the_database_may_not_grow_the_writer_is_told_that_the_disk_is_full(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    projects.create(store, "Full", project_id="p")
    store.close()

    store = Store.open(tmp_path)
    store._idle.close()
    store.engine.dispose()
    bound = (tmp_path / DATABASE_FILE).stat().st_size // 4096 + 20
    event.listen(store.engine, "connect", lambda raw, _: raw.execute(f"PRAGMA max_page_count = {bound}").close())
    kept = _fill(store)
    assert kept > 0
    with store.read(project="p") as reading:
        assert reading.count(rows) == kept
        assert reading.version("project") == kept + 1
    store.close()

    store = Store.open(tmp_path)  # and now there is room
    with store.write(project="p") as tx:
        documents.add(tx, "After", text="word " * 4_000)
    with store.read(project="p") as reading:
        assert reading.count(rows) == kept + 1
    store.close()
    _assert_whole(tmp_path / DATABASE_FILE)


def test_when_the_machine_takes_no_more_the_store_stays_whole_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    lines = run_program("fill", str(tmp_path))
    refusals = [line for line in lines if line.startswith("refused ")]
    assert len(refusals) == 5, "four writes and a backup"
    for line in refusals:
        assert line.startswith("refused STORE_DISK_FULL: The disk is full")
        assert line.endswith("Nothing was changed.")
    (line,) = (line for line in lines if line.startswith("kept "))
    _, kept, found = line.split()
    assert kept == found

    store = Store.open(tmp_path)
    with store.read(project="p") as reading:
        assert reading.count(rows, rows.c.id.like("more-%")) == int(kept) > 0
        assert reading.require(rows, id="again").title == "Room again"
    store.close()
    _assert_whole(tmp_path / DATABASE_FILE)
    assert len(list_backups(tmp_path / DATABASE_FILE)) == 1, "of an opening; of the one that failed nothing is left"
    assert sorted((tmp_path / BACKUP_FOLDER).iterdir()) == list_backups(tmp_path / DATABASE_FILE)


def test_a_new_store_is_refused_where_there_is_no_room_and_made_when_there_is(tmp_path: Path) -> None:
    (line,) = run_program("fill_new", str(tmp_path))
    assert line.startswith("refused STORE_DISK_FULL")
    store = Store.open(tmp_path)
    projects.create(store, "Room")
    store.close()
    _assert_whole(tmp_path / DATABASE_FILE)


def test_a_place_that_may_not_be_written_to_is_refused_in_words(commons: Path) -> None:
    made = Store.open(commons / "store")
    projects.create(made, "Not yours")
    made.close()
    (commons / "store").chmod(0o555)
    (commons / "store" / DATABASE_FILE).chmod(0o444)
    (commons / "empty").mkdir(0o555)
    commons.chmod(0o555)
    before = (commons / "store" / DATABASE_FILE).read_bytes()
    lines = run_program("open_as_nobody", *(str(commons / name) for name in ("store", "empty", "empty/deeper", "new")))
    for ours in (commons, commons / "store"):
        ours.chmod(0o755)
    assert len(lines) == 4
    for line in lines:
        assert line.startswith("refused STORE_READ_ONLY: ")
        assert "Choose another" in line
        assert line.endswith("Nothing was changed.")
    assert (commons / "store" / DATABASE_FILE).read_bytes() == before


def test_a_store_that_may_not_be_read_at_all_is_refused_in_words(commons: Path) -> None:
    made = Store.open(commons / "store")
    made.close()
    (commons / "store").chmod(0o000)
    (line,) = run_program("open_as_nobody", str(commons / "store"))
    (commons / "store").chmod(0o755)
    assert line.startswith("refused STORE_READ_ONLY")


@pytest.mark.parametrize("name", ["letter/store", "letter/store.db", "letter/a/b/c"])
def test_a_path_below_a_file_is_refused_in_words(tmp_path: Path, name: str) -> None:
    (tmp_path / "letter").write_text("Dear reader")
    with pytest.raises(FabulaError) as refused:
        Store.open(tmp_path / name)
    assert refused.value.code is Code.STORE_READ_ONLY
    assert "letter" in refused.value.sentence
    assert (tmp_path / "letter").read_text() == "Dear reader"


def test_a_folder_in_the_place_of_the_file_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / DATABASE_FILE).mkdir()
    with pytest.raises(FabulaError) as refused:
        Store.open(tmp_path)
    assert refused.value.code is Code.STORE_READ_ONLY


def _fill(store: Store) -> int:
    """Write until there is no room, three times over; how many were kept."""
    kept = refused = 0
    while refused < 3:
        try:
            with store.write(project="p") as tx:
                documents.add(tx, "More", text="word " * 4_000)
            kept += 1
        except FabulaError as error:
            if error.code is not Code.STORE_DISK_FULL:
                raise
            refused += 1
    return kept


def _assert_whole(file: Path) -> None:
    connection = sqlite3.connect(file)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()
