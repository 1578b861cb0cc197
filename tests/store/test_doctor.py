"""The doctor notices what is wrong."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from sqlalchemy import text

from fabula.manuscript import documents, projects
from fabula.store.backup import back_up
from fabula.store.doctor import HealthState, examine
from fabula.store.store import Store


def states(store: Store) -> dict[str, HealthState]:
    return {found.name: found.state for found in examine(store)}


def test_a_fresh_store_has_no_copy_and_is_otherwise_well(store: Store) -> None:
    projects.create(store, "One")
    found = states(store)
    assert found.pop("copies") is HealthState.WARNING
    found.pop("disk")
    assert set(found.values()) == {HealthState.HEALTHY}


def test_a_version_that_is_not_what_the_feed_says_is_noticed(store: Store) -> None:
    ident = projects.create(store, "One")
    with store.engine.begin() as connection:
        connection.execute(text("UPDATE heads SET version = 99 WHERE owner = :owner"), {"owner": f"project:{ident}"})
    assert states(store)["versions"] is HealthState.FAILED


def test_tables_of_another_version_are_noticed(store: Store) -> None:
    with store.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0000'"))
    assert states(store)["tables"] is HealthState.FAILED


def test_what_would_be_lost_is_counted_from_the_newest_copy(store: Store) -> None:
    projects.create(store, "One")
    if store.file is not None:
        back_up(store.file)
        assert "1 copy in backups/ with 1 of 1 projects" in sentence(store)
        projects.create(store, "Two", project_id="two")
        assert "1 copy in backups/ with 1 of 2 projects" in sentence(store)
        assert "In no copy: “Two”." in sentence(store)


def test_changes_after_the_newest_copy_are_counted_whether_they_are_rows_or_not(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    projects.create(store, "One", project_id="one")
    if store.file is None:
        return
    back_up(store.file)
    assert "later change" not in sentence(store)
    for number, kept in enumerate((10_000, 10_000, 0, 10_000), start=1):
        monkeypatch.setattr("fabula.store.transaction.MAX_LATEST", kept)
        with store.write(project="one") as tx:
            documents.add(tx, f"Chapter {number}")
        expected = "1 later change is in no copy." if number == 1 else f"{number} later changes are in no copy."
        assert expected in sentence(store)
        assert states(store)["versions"] is HealthState.HEALTHY


def test_copies_on_the_same_disk_are_not_called_safe_without_saying_so(store: Store) -> None:
    projects.create(store, "One")
    if store.file is not None:
        back_up(store.file)
        assert states(store)["copies"] is HealthState.WARNING
        assert "on the same disk" in sentence(store)


def test_a_copied_folder_does_not_look_safe_by_its_file_times(store: Store) -> None:
    if store.file is None:
        return
    projects.create(store, "Book 0")
    copy = back_up(store.file)
    for number in range(1, 25):
        projects.create(store, f"Book {number}")
    os.utime(copy)  # as a copied folder has it
    assert "with 1 of 25 projects" in sentence(store)
    assert "In no copy: 24 projects" in sentence(store)


def test_a_copy_that_cannot_be_read_is_not_counted(store: Store) -> None:
    if store.file is not None:
        projects.create(store, "One")
        back_up(store.file).write_bytes(b"nonsense")
        assert "There is no backup" in sentence(store)
        back_up(store.file)
        assert "1 copy cannot be read." in sentence(store)


def sentence(store: Store) -> str:
    return next(str(found.sentence) for found in examine(store) if found.name == "copies")


@pytest.mark.parametrize("kept_bytes", [None, 32 + 4120])
def test_a_lost_write_ahead_log_is_told(
    tmp_path: Path, kept_bytes: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store.open(tmp_path)
    projects.create(store, "Lost", project_id="p")
    with store.engine.connect() as connection:
        connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))
    for number in range(3):
        with store.write(project="p") as tx:
            documents.add(tx, f"Chapter {number}", text="Words.")
    (tmp_path / "killed").mkdir()
    for name in ("fabula.db", "fabula.db-wal", "fabula.db-last"):
        shutil.copyfile(tmp_path / name, tmp_path / "killed" / name)
    store.close()
    log = tmp_path / "killed" / "fabula.db-wal"
    if kept_bytes is None:
        log.unlink()
    else:
        os.truncate(log, kept_bytes)
    reopened = Store.open(tmp_path / "killed", inspect_only=True)
    (finding,) = [one for one in examine(reopened) if one.name == "versions"]
    reopened.close()
    assert finding.is_failure
    assert "3 changes" in finding.sentence.render()
    Store.open(tmp_path / "killed").close()
    assert "latest changes are missing" in caplog.text


def test_nothing_is_missing_after_a_kill_that_left_the_log(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    projects.create(store, "Whole", project_id="p")
    (tmp_path / "killed").mkdir()
    for name in ("fabula.db", "fabula.db-wal", "fabula.db-last"):
        shutil.copyfile(tmp_path / name, tmp_path / "killed" / name)
    store.close()
    reopened = Store.open(tmp_path / "killed")
    assert reopened.last_change is not None
    assert reopened.last_change.count_missing() == 0
    reopened.close()
