"""Loading: exactly what was saved, on any engine, all of it or nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from fabula.codex.tables import entries
from fabula.conversation.model import Conversations
from fabula.core.errors import Code, FabulaError
from fabula.jobs.tables import jobs
from fabula.manuscript import projects
from fabula.manuscript.drafts import DocumentKind
from fabula.manuscript.model import Manuscript
from fabula.manuscript.tables import documents
from fabula.memory import edits as memory
from fabula.memory.model import MemoryItem, MemoryScope
from fabula.settings import edits as settings
from fabula.settings.tables import user_settings
from fabula.store.backup import MAX_BACKUPS
from fabula.store.old_presets import remove_unknown_fields
from fabula.store.save import manifest as manifests
from fabula.store.save.loading import list_project_backups, load_save, verify_save
from fabula.store.save.manifest import Record
from fabula.store.save.saving import save_project
from fabula.store.save.tables import table_formats
from fabula.store.store import LOCAL_USER, Store
from fabula.store.transaction import Change
from fabula.workspace.read_only import open_view
from fabula.workspace.views import ProjectViews
from tests.blank import lay
from tests.store.save.rows import (
    FORMAT_2,
    FORMAT_3,
    FORMAT_4,
    GOLDEN,
    MADE,
    OLDEST,
    PROJECT,
    ROWS,
    assert_says,
    contents,
    everything,
    fill,
    lines,
    members,
    person,
)

GOLDENS = [
    (OLDEST, "3e4bc7651b455d1dd231b2b4457f6582c5379ea40ef2480f49b3392565dc073e", 39),
    (FORMAT_2, "840dddaba5532a6e4ced3ac4d5cf40c01e43b25083a4771656a7b988e1965f18", 43),
    (FORMAT_3, "8851f01a13456d2d09f65c464cfda81d5e561f39cde987418cd3a8dd6ce8b05f", 44),
    (FORMAT_4, "c3be1c336706f934f0d29fd055e6a9b8463c252c9040d28b7d55c70543c0c228", 44),
    (GOLDEN, "95ceb2bb0691531e19ebc7c2cdaf87c61da96866bef328934dce2f864461cd17", 44),
]


_MIRA = {"conversation_id": "desk", "participant_id": "game:mira"}
PRESENCE_CHANGES: list[Record] = [  # as they are made of the ranges of older formats
    {**_MIRA, "since_number": 0, "after_number": -1, "leaves": 0},
    {**_MIRA, "since_number": 2, "after_number": 1, "leaves": 1},
    {**_MIRA, "since_number": 3, "after_number": 2, "leaves": 0},
]


@pytest.fixture
def full(store: Store) -> Store:
    """A store with one project that has something in every table."""
    fill(store)
    return store


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Store]:
    """A second store, always on SQLite."""
    opened = Store.open(lay(tmp_path / "other"))
    yield opened
    opened.close()


def test_what_was_saved_comes_back_exactly(full: Store, tmp_path: Path) -> None:
    before = contents(full)
    save_project(full, PROJECT, tmp_path / "a.fabula", created_at=MADE)
    projects.remove(full, PROJECT)
    loaded = load_save(full, tmp_path / "a.fabula")
    assert (loaded.project_id, loaded.backup, loaded.warnings) == (PROJECT, None, ())
    assert contents(full) == before
    assert all(before.values())
    save_project(full, PROJECT, tmp_path / "b.fabula", created_at=MADE)
    assert (tmp_path / "a.fabula").read_bytes() == (tmp_path / "b.fabula").read_bytes()


def test_a_save_of_one_engine_loads_on_the_other_and_comes_back(full: Store, other: Store, tmp_path: Path) -> None:
    save_project(full, PROJECT, tmp_path / "a.fabula", created_at=MADE)
    load_save(other, tmp_path / "a.fabula", user=LOCAL_USER)
    assert contents(other) == contents(full)
    save_project(other, PROJECT, tmp_path / "b.fabula", created_at=MADE)
    assert (tmp_path / "a.fabula").read_bytes() == (tmp_path / "b.fabula").read_bytes()
    back = load_save(full, tmp_path / "b.fabula", user=LOCAL_USER)
    assert contents(full, back.project_id) == contents(other)


def test_a_save_whose_id_is_taken_becomes_another_project(full: Store, tmp_path: Path) -> None:
    save_project(full, PROJECT, tmp_path / "a.fabula")
    before = contents(full)
    loaded = load_save(full, tmp_path / "a.fabula")
    assert loaded.project_id != PROJECT
    assert set(full.project_ids()) == {PROJECT, loaded.project_id}
    assert contents(full) == contents(full, loaded.project_id) == before


def test_a_save_can_be_given_an_id(full: Store, tmp_path: Path) -> None:
    save_project(full, PROJECT, tmp_path / "a.fabula")
    assert load_save(full, tmp_path / "a.fabula", project_id="copy").project_id == "copy"
    with pytest.raises(FabulaError) as refused:
        load_save(full, tmp_path / "a.fabula", project_id="copy")
    assert_says(refused.value, Code.STORE_DUPLICATE, "'copy'")
    with pytest.raises(FabulaError) as refused:
        load_save(full, tmp_path / "a.fabula", project_id="../copy")
    assert_says(refused.value, Code.PROJECT_INVALID)


def test_a_project_that_is_replaced_is_saved_first(full: Store, tmp_path: Path) -> None:
    save_project(full, PROJECT, tmp_path / "a.fabula")
    saved = contents(full)
    with full.write(project=PROJECT) as tx:
        tx.update_row(documents, {"id": "a"}, {"text": "Written since."})
        tx.insert(entries, {"id": "new", "name": "New"})
        tx.insert(documents, {"id": "new", "title": "New"})
    since = contents(full)
    version, _ = full.versions(project=PROJECT)
    loaded = load_save(full, tmp_path / "a.fabula", replace=True)
    assert loaded.project_id == PROJECT
    assert contents(full) == saved
    assert loaded.backup is not None
    assert loaded.backup.parent == full.folder / "backups"
    back = load_save(full, loaded.backup, project_id="back")
    assert contents(full, back.project_id) == since
    assert full.versions(project=PROJECT)[0] == version + 1
    with full.read(project=PROJECT) as reading:
        changes = reading.changes("project", version)
        assert reading.rows(jobs) == [], "what waited to be done to the old project is not done to this one"
    assert changes is not None
    gone = {Change(version + 1, "codex", "new"), Change(version + 1, "manuscript", "new")}
    assert gone <= set(changes), "whoever holds a view learns what is gone"


def test_another_project_stays_as_it_is(full: Store, tmp_path: Path) -> None:
    fill(full, "theirs")
    before, version = contents(full, "theirs"), full.versions(project="theirs")
    save_project(full, PROJECT, tmp_path / "a.fabula")
    load_save(full, tmp_path / "a.fabula", replace=True)
    assert (contents(full, "theirs"), full.versions(project="theirs")) == (before, version)


def test_only_so_many_backups_of_a_project_are_kept(full: Store, tmp_path: Path) -> None:
    save_project(full, PROJECT, tmp_path / "a.fabula")
    load_save(full, tmp_path / "a.fabula", project_id="other")
    first = load_save(full, tmp_path / "a.fabula", project_id="other", replace=True).backup
    made = [load_save(full, tmp_path / "a.fabula", replace=True).backup for _ in range(MAX_BACKUPS + 2)]
    assert list_project_backups(full, PROJECT) == made[2:]
    assert list_project_backups(full, "other") == [first], "each project has its own"


def test_a_save_of_something_new_needs_nothing_to_replace(full: Store, other: Store, tmp_path: Path) -> None:
    save_project(full, PROJECT, tmp_path / "a.fabula")
    loaded = load_save(other, tmp_path / "a.fabula", replace=True)
    assert (loaded.project_id, loaded.backup) == (PROJECT, None)


def test_a_load_that_is_cancelled_changes_nothing_and_leaves_no_backup(full: Store, tmp_path: Path) -> None:
    with full.write(project=PROJECT) as tx:
        tx.insert(entries, *[{"id": f"e{n}", "name": str(n)} for n in range(3_000)])
    save_project(full, PROJECT, tmp_path / "a.fabula")
    before = everything(full)

    def cancel(done: int, total: int) -> None:
        if done == total or done > 0.8 * total:
            raise KeyboardInterrupt

    for replace in (True, False):
        with pytest.raises(KeyboardInterrupt):
            load_save(full, tmp_path / "a.fabula", replace=replace, progress=cancel)
    assert everything(full) == before
    assert list_project_backups(full, PROJECT) == []


def test_progress_is_told_and_ends_at_the_end(full: Store, tmp_path: Path) -> None:
    with full.write(project=PROJECT) as tx:
        tx.insert(entries, *[{"id": f"e{n}", "name": str(n)} for n in range(2_000)])
    manifest = save_project(full, PROJECT, tmp_path / "a.fabula")
    told: list[tuple[int, int]] = []
    load_save(full, tmp_path / "a.fabula", progress=lambda done, total: told.append((done, total)))
    assert len(told) > 5
    assert told == sorted(told)
    assert told[-1] == (2 * manifest.rows, 2 * manifest.rows)


_UNTIL_IT_IS_KILLED = """
import os, signal, sys
from pathlib import Path
from fabula.store.save.loading import load_save
from fabula.store.store import Store

def die(done, total):
    if done > 0.8 * total:
        os.kill(os.getpid(), signal.SIGKILL)

load_save(Store.open(sys.argv[1]), Path(sys.argv[2]), replace=True, progress=die)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is killed like that there")
def test_a_kill_in_the_middle_of_a_load_leaves_the_store_as_it_was(full: Store, address: str, tmp_path: Path) -> None:
    with full.write(project=PROJECT) as tx:
        tx.insert(entries, *[{"id": f"e{n}", "name": str(n)} for n in range(3_000)])
    save_project(full, PROJECT, tmp_path / "a.fabula")
    before = everything(full)
    command = [sys.executable, "-c", _UNTIL_IT_IS_KILLED, address, str(tmp_path / "a.fabula")]
    assert subprocess.run(command, env=dict(os.environ)).returncode == -signal.SIGKILL
    assert everything(full) == before
    again = Store.open(address)
    assert everything(again) == before
    again.close()
    load_save(full, tmp_path / "a.fabula", replace=True)


def test_a_file_that_changes_between_its_two_readings_is_refused(full: Store, tmp_path: Path) -> None:
    with full.write(project=PROJECT) as tx:
        tx.insert(entries, *[{"id": f"e{n}", "name": str(n)} for n in range(1_000)])
    save_project(full, PROJECT, tmp_path / "a.fabula")
    with full.write(project=PROJECT) as tx:
        tx.update_row(documents, {"id": "a"}, {"text": "Something else."})
    save_project(full, PROJECT, tmp_path / "b.fabula")
    before = everything(full)

    def swap(done: int, total: int) -> None:
        (tmp_path / "a.fabula").write_bytes((tmp_path / "b.fabula").read_bytes())

    (tmp_path / "c.fabula").write_bytes((tmp_path / "a.fabula").read_bytes())
    with pytest.raises(FabulaError) as refused:
        load_save(full, tmp_path / "a.fabula", replace=True, progress=swap)
    assert_says(refused.value, Code.SAVE_DAMAGED)
    assert everything(full) == before
    assert load_save(full, tmp_path / "c.fabula", replace=True).project_id == PROJECT


def test_a_look_through_a_save_says_what_is_in_it(full: Store, tmp_path: Path) -> None:
    manifest = save_project(full, PROJECT, tmp_path / "a.fabula")
    report = verify_save(tmp_path / "a.fabula")
    assert report.is_loadable
    assert report.manifest == manifest
    assert report.row_counts == {table: len(rows) for table, rows in ROWS.items()}
    assert report.warnings == ()
    (tmp_path / "b.fabula").write_bytes((tmp_path / "a.fabula").read_bytes()[:-100])
    report = verify_save(tmp_path / "b.fabula")
    assert not report.is_loadable
    assert report.code is Code.SAVE_DAMAGED
    assert "b.fabula" in str(report.reason)


def test_an_older_format_is_brought_up_to_date_step_by_step(
    full: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if this program were two formats further, and a table had been merged into another on the way."""
    expected = contents(full)
    save_project(full, PROJECT, tmp_path / "a.fabula")

    def to_six(table: str, rows: Iterator[Record]) -> tuple[str, Iterator[Record]]:
        return (
            (table, ({**row, "title": row["title"] + "!"} for row in rows)) if table == "documents" else (table, rows)
        )

    def to_seven(table: str, rows: Iterator[Record]) -> tuple[str, Iterator[Record]]:
        if table == "fixed_prompts":
            kept = ("participant_id", "place", "text", "version")
            return "biographies", ({"id": f"was-{row['id']}", **{name: row[name] for name in kept}} for row in rows)
        return (
            (table, ({**row, "title": row["title"] + "?"} for row in rows)) if table == "documents" else (table, rows)
        )

    monkeypatch.setattr(manifests, "FORMAT_VERSION", 7)
    monkeypatch.setattr(manifests, "UPGRADES", {5: to_six, 6: to_seven})
    assert "older format 5" in str(verify_save(tmp_path / "a.fabula").warnings[0])
    loaded = load_save(full, tmp_path / "a.fabula", project_id="newer")
    found = contents(full, loaded.project_id)
    assert {row["title"] for row in found["documents"]} == {f"{row['title']}!?" for row in expected["documents"]}
    assert {row["id"] for row in found["biographies"]} == {"bio", "was-f"}
    assert found["fixed_prompts"] == []
    assert found["messages"] == expected["messages"]


def test_a_format_that_never_was_is_refused(full: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "FORMAT_VERSION", 0)
    monkeypatch.setattr(manifests, "UPGRADES", {})
    save_project(full, PROJECT, tmp_path / "a.fabula")
    monkeypatch.setattr(manifests, "FORMAT_VERSION", 3)
    report = verify_save(tmp_path / "a.fabula")
    assert (report.code, "format 0" in str(report.reason)) == (Code.SAVE_DAMAGED, True)


def test_a_column_may_say_what_it_holds() -> None:
    (rows,) = (shape.row_type for shape in table_formats() if shape.table is documents)
    assert rows.__annotations__["kind"] is DocumentKind


def test_a_persons_own_things_come_along_into_an_empty_store(full: Store, other: Store, tmp_path: Path) -> None:
    save_project(full, PROJECT, tmp_path / "a.fabula", created_at=MADE)
    loaded = load_save(other, tmp_path / "a.fabula", user=LOCAL_USER)
    assert (loaded.not_loaded, loaded.warnings) == ({}, ())
    assert person(other) == person(full)
    assert all(person(other).values())
    save_project(other, PROJECT, tmp_path / "b.fabula", created_at=MADE)
    assert (tmp_path / "a.fabula").read_bytes() == (tmp_path / "b.fabula").read_bytes()


def test_what_somebody_says_of_themselves_is_never_overwritten(full: Store, other: Store, tmp_path: Path) -> None:
    with other.write(user=LOCAL_USER) as tx:
        memory.write_profile(tx, "Somebody else.")
        memory.add_memory(tx, MemoryItem(id="long", text="Prefers long chapters."), scope=MemoryScope.USER)
        tx.insert(user_settings, {"name": "theme", "value": {"dark": False}})
    save_project(full, PROJECT, tmp_path / "a.fabula")
    loaded = load_save(other, tmp_path / "a.fabula", user=LOCAL_USER)
    assert loaded.not_loaded == {"person/profiles": 1, "person/user_settings": 1}
    assert len(loaded.warnings) == 2
    with other.read(user=LOCAL_USER) as reading:
        assert memory.get_profile(reading).text == "Somebody else."
        assert {one.id for one in memory.list_memories(reading, scope=MemoryScope.USER)} == {"long", "short"}
        assert {one.name: one.value for one in settings.list_stored(reading, scope="person")} == {
            "theme": {"dark": False},
            "language": "zh",
        }
    again = load_save(other, tmp_path / "a.fabula", user=LOCAL_USER)
    assert again.not_loaded == loaded.not_loaded, "what is here already, word for word, is nothing to speak of"


def test_a_save_can_be_loaded_without_the_persons_things(full: Store, other: Store, tmp_path: Path) -> None:
    save_project(full, PROJECT, tmp_path / "a.fabula")
    assert load_save(other, tmp_path / "a.fabula", user=None).project_id == PROJECT
    assert not any(person(other).values())
    assert contents(other) == contents(full)


def test_the_persons_things_go_to_whoever_loads(full: Store, other: Store, tmp_path: Path) -> None:
    save_project(full, PROJECT, tmp_path / "a.fabula")
    load_save(other, tmp_path / "a.fabula", user="ada")
    assert person(other, "ada") == person(full)
    assert not any(person(other).values())


def test_whatever_loads_can_be_opened(store: Store, tmp_path: Path) -> None:
    fill(store, "made")
    save_project(store, "made", tmp_path / "a.fabula")
    library = ProjectViews(store)
    for path in (OLDEST, FORMAT_2, FORMAT_3, FORMAT_4, GOLDEN, tmp_path / "a.fabula"):
        loaded = load_save(store, path, project_id=path.stem)
        view = library.view(loaded.project_id, conversation="desk")
        assert view.snapshot(Manuscript) is not None
        talks = view.snapshot(Conversations)
        assert talks is not None
        assert len(talks.messages["desk"]) == 2
        house = open_view(view)
        result = house.assemble(house.request(document_id="a", window=8192))
        assert result.prompt
        assert result.warnings == ()


# What format 1 let through, and what it becomes.
MENDED: dict[str, Record] = {
    "budgets": {"profile": {}},
    "codex_entries": {"details": {"age": "31", "tall": "1.75"}},
    "constraints": {"priority": 0},
    "memories": {"evidence": ['{"n":9223372036854775807}']},
}


@pytest.mark.parametrize(("path", "digest", "rows"), GOLDENS, ids=[f"format {n}" for n in range(1, 6)])
def test_a_save_of_every_format_loads_for_ever(path: Path, digest: str, rows: int, store: Store) -> None:
    assert sha256(path.read_bytes()).hexdigest() == digest, "this file is never made again"
    assert load_save(store, path, user=LOCAL_USER).project_id == PROJECT
    found = contents(store) | person(store)
    inside = members(path)
    seen = 0
    for shape in table_formats():
        member = f"{shape.name}.jsonl"
        if member not in inside:
            continue
        here = {tuple(row[name] for name in shape.key): row for row in found[shape.name]}
        wanted = lines(path, member)
        if shape.name == "presence" and path != GOLDEN:  # ranges from 0 to 2, and from 3 on
            assert [(row["since_number"], row["until_number"]) for row in wanted] == [(0, 2), (3, None)]
            wanted = PRESENCE_CHANGES
        assert len(here) == len(wanted)
        for old in wanted:
            if shape.name == "documents":
                old["text"] = inside[old["text"]["file"]].decode()
            row = here[tuple(old[name] for name in shape.key)]
            if shape.name == "presets" and path in (OLDEST, FORMAT_2):
                old["nodes"] = remove_unknown_fields(old["nodes"])
            if path == OLDEST:
                old |= {name: value for name, value in MENDED.get(shape.name, {}).items() if old[name]}
            assert {name: row[name] for name in old} == old
            seen += 1
    assert seen == rows
