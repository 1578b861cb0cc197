"""Saving: complete, readable, the same bytes every time, nothing in it that does not belong, whole or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from fabula.codex.tables import entries
from fabula.core.errors import Code, FabulaError
from fabula.core.version import __version__
from fabula.manuscript import projects
from fabula.manuscript.tables import documents, revisions
from fabula.memory import edits as memory
from fabula.settings.tables import settings, user_settings
from fabula.store.save import saving
from fabula.store.save.loading import load_save, verify_save
from fabula.store.save.saving import save_project
from fabula.store.save.secrets import is_secret_name
from fabula.store.save.tables import table_formats
from fabula.store.slugs import make_slug
from fabula.store.store import LOCAL_USER, Store
from tests.store.save.rows import HARD, MADE, PROJECT, ROWS, assert_says, contents, fill, lines, members


@pytest.fixture
def full(store: Store) -> Store:
    """A store with one project that has something in every table."""
    fill(store)
    return store


def test_the_example_has_something_in_every_table_that_is_saved() -> None:
    assert set(ROWS) == {shape.name for shape in table_formats()}


def test_a_save_has_one_file_a_table_one_line_a_row_and_one_markdown_file_a_document(
    full: Store, tmp_path: Path
) -> None:
    manifest = save_project(full, PROJECT, tmp_path / "a.fabula", created_at=MADE)
    found = members(tmp_path / "a.fabula")
    texts = {name for name in found if name.endswith(".md")}
    assert set(found) - texts == {f"{table}.jsonl" for table in ROWS} | {"manifest.json"}
    assert texts == {
        "documents/0001-etc-a-bad-name.md",
        "documents/0002-part-one-fog.md",
        "documents/0003-第一章.md",
        "documents/0004.md",
        "documents/0005-第二章-鸽子.md",
    }, "numbered as they are read"
    assert found["documents/0005-第二章-鸽子.md"].decode() == HARD
    for table, rows in ROWS.items():
        assert len(lines(tmp_path / "a.fabula", f"{table}.jsonl")) == len(rows)
    said = json.loads(found["manifest.json"])
    assert said["format"] == "fabula-save"
    assert (said["version"], said["program"], said["made"]) == (5, __version__, MADE)
    assert said["project"] == {"id": PROJECT, "title": "The Harbour 雾港"}
    assert set(said["members"]) == set(found) - {"manifest.json"}
    assert said["members"]["revisions.jsonl"]["rows"] == 3
    assert manifest.members["documents/0005-第二章-鸽子.md"].size == len(HARD.encode())


def test_rows_have_their_columns_in_order_and_stand_in_the_order_of_their_keys(full: Store, tmp_path: Path) -> None:
    save_project(full, PROJECT, tmp_path / "a.fabula")
    for shape in table_formats():
        for row in lines(tmp_path / "a.fabula", f"{shape.name}.jsonl"):
            assert list(row) == [c.name for c in shape.table.columns if c.name != f"{shape.owner}_id"]
    ids = [row["id"] for row in lines(tmp_path / "a.fabula", "documents.jsonl")]
    assert ids == ["B", "a", "b", "z-part", "é"], "by code points, not by the language of a server"
    assert [row["revision"] for row in lines(tmp_path / "a.fabula", "revisions.jsonl")] == [1, 9, 10]


def test_json_is_written_as_json(full: Store, tmp_path: Path) -> None:
    save_project(full, PROJECT, tmp_path / "a.fabula")
    mira = lines(tmp_path / "a.fabula", "codex_entries.jsonl")[1]
    assert mira["details"] == {"age": "31", "高": "1.75 m"}
    assert "米拉" in members(tmp_path / "a.fabula")["codex_entries.jsonl"].decode(), "no escapes where none are needed"


def test_the_same_project_saves_to_the_same_bytes(full: Store, tmp_path: Path) -> None:
    save_project(full, PROJECT, tmp_path / "a.fabula", created_at=MADE)
    save_project(full, PROJECT, tmp_path / "b.fabula", created_at=MADE)
    assert (tmp_path / "a.fabula").read_bytes() == (tmp_path / "b.fabula").read_bytes()
    save_project(full, PROJECT, tmp_path / "c.fabula")
    one, other = members(tmp_path / "a.fabula"), members(tmp_path / "c.fabula")
    assert {name for name in one if one[name] != other[name]} == {"manifest.json"}


def test_nothing_of_anybody_else_enters_a_save(full: Store, tmp_path: Path) -> None:
    fill(full, "theirs")
    with full.write(project="theirs", user="ada") as tx:
        tx.update_row(documents, {"id": "a"}, {"text": "their secret"})
        memory.write_profile(tx, "their secret, too")
    save_project(full, PROJECT, tmp_path / "a.fabula")
    everything = b"\n".join(members(tmp_path / "a.fabula").values())
    assert b"their" not in everything
    assert b"project_id" not in everything
    assert b"user_id" not in everything


def test_a_persons_own_things_go_with_the_project_unless_they_are_to_stay_at_home(full: Store, tmp_path: Path) -> None:
    save_project(full, PROJECT, tmp_path / "mine.fabula")
    assert lines(tmp_path / "mine.fabula", "person/profiles.jsonl")[0]["text"] == "Writes at night. 夜里写。"
    manifest = save_project(full, PROJECT, tmp_path / "given.fabula", user=None)
    assert [name for name in manifest.members if name.startswith("person/")] == []
    assert b"at night" not in b"\n".join(members(tmp_path / "given.fabula").values())
    assert verify_save(tmp_path / "given.fabula").is_loadable


def test_no_vectors_jobs_versions_or_binary_data_enter_a_save(full: Store, tmp_path: Path) -> None:
    save_project(full, PROJECT, tmp_path / "a.fabula")
    for name, data in members(tmp_path / "a.fabula").items():
        text = data.decode()
        if name.endswith(".jsonl"):
            assert name.removesuffix(".jsonl") not in {"jobs", "heads", "changes", "alembic_version"}
            columns = {column for row in lines(tmp_path / "a.fabula", name) for column in row}
            assert not [
                c for c in columns if any(word in c for word in ("vector", "embedding", "api_key", "token_ids"))
            ]
        assert not [word for word in ("vector", "embedding", "api_key", "\x00") if word in text]


def test_settings_that_look_like_secrets_are_left_out_and_counted(full: Store, tmp_path: Path) -> None:
    with full.write(project=PROJECT, user=LOCAL_USER) as tx:
        tx.insert(user_settings, {"name": "github_token", "value": "planted-there"})
        tx.insert(settings, {"name": "openai_api_key", "value": "sk-planted"})
        tx.insert(
            settings, {"name": "model", "value": {"name": "x", "auth": [{"accessToken": "planted-too", "on": True}]}}
        )
    manifest = save_project(full, PROJECT, tmp_path / "a.fabula")
    everything = b"\n".join(members(tmp_path / "a.fabula").values())
    assert b"planted" not in everything
    assert b"api_key" not in everything
    assert manifest.omitted_rows == {"settings": 2, "person/user_settings": 1}
    kept = {row["name"]: row["value"] for row in lines(tmp_path / "a.fabula", "settings.jsonl")}
    assert kept == {"font": "Noto", "max_tokens": 512, "unset": None, "model": {"name": "x", "auth": [{"on": True}]}}
    report = verify_save(tmp_path / "a.fabula")
    assert report.is_loadable
    assert "looked like a secret" in str(report.warnings[0])


@pytest.mark.parametrize(
    "name",
    [
        "openai_api_key",
        "API-KEY",
        "apiKey",
        "githubToken",
        "token",
        "password",
        "dbPassword",
        "client.secret",
        "aws_secret_access_key",
        "openai_key",
        "refresh_tokens",
        "credentials",
        "Authorization",
        "密码",
        "private_key_file",
    ],
)
def test_names_of_secrets_are_known(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "max_tokens",
        "token_budget",
        "tokenizer",
        "keyboard",
        "hotkeys",
        "hot_key",
        "key",
        "sort_key",
        "key_bindings",
        "monkey",
        "author",
        "secretary_desk",
        "tokens",
        "output_tokens",
        "keywords",
    ],
)
def test_harmless_names_are_not_taken_for_secrets(name: str) -> None:
    assert not is_secret_name(name)


def test_a_large_table_goes_on_in_a_second_file(full: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "MAX_PART_BYTES", 1_000)
    with full.write(project=PROJECT) as tx:
        tx.insert(entries, *[{"id": f"e{n:02}", "name": f"Name {n}", "description": "x" * 200} for n in range(30)])
    save_project(full, PROJECT, tmp_path / "a.fabula")
    parts = [name for name in members(tmp_path / "a.fabula") if name.startswith("codex_entries")]
    assert len(parts) > 10
    loaded = load_save(full, tmp_path / "a.fabula")
    assert contents(full, loaded.project_id) == contents(full)


def test_a_number_that_json_cannot_say_is_left_to_the_default(full: Store, tmp_path: Path) -> None:
    with full.write(project=PROJECT) as tx:
        tx.update_row(documents, {"id": "a"}, {"happens": float("inf")})
    save_project(full, PROJECT, tmp_path / "a.fabula")
    row = next(row for row in lines(tmp_path / "a.fabula", "documents.jsonl") if row["id"] == "a")
    assert "happens" not in row
    assert verify_save(tmp_path / "a.fabula").is_loadable


def test_a_save_is_of_one_moment(full: Store, tmp_path: Path) -> None:
    before = contents(full)

    def meddle(done: int, total: int) -> None:
        with full.write(project=PROJECT) as tx:
            tx.update_rows(revisions, {"text": "meddled"})

    with full.write(project=PROJECT) as tx:
        tx.insert(entries, *[{"id": f"e{n}", "name": str(n)} for n in range(600)])
    save_project(full, PROJECT, tmp_path / "a.fabula", progress=meddle)
    texts = [row["text"] for row in lines(tmp_path / "a.fabula", "revisions.jsonl")]
    assert "meddled" not in texts
    assert sorted(texts) == sorted(row["text"] for row in before["revisions"])


def test_progress_is_told_and_ends_at_the_end(full: Store, tmp_path: Path) -> None:
    with full.write(project=PROJECT) as tx:
        tx.insert(entries, *[{"id": f"e{n}", "name": str(n)} for n in range(2_000)])
    told: list[tuple[int, int]] = []
    save_project(full, PROJECT, tmp_path / "a.fabula", progress=lambda done, total: told.append((done, total)))
    assert len(told) > 5
    assert told == sorted(told)
    assert {total for _, total in told} == {told[-1][0]}


def test_a_cancelled_save_leaves_nothing_and_keeps_the_older_file(full: Store, tmp_path: Path) -> None:
    folder = tmp_path / "saves"
    folder.mkdir()
    (folder / "a.fabula").write_text("an older save")

    def cancel(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save_project(full, PROJECT, folder / "a.fabula", progress=cancel)
    assert [path.name for path in folder.iterdir()] == ["a.fabula"]
    assert (folder / "a.fabula").read_text() == "an older save"


def test_an_older_file_gives_way_to_a_complete_one(full: Store, tmp_path: Path) -> None:
    (tmp_path / "a.fabula").write_text("an older save")
    save_project(full, PROJECT, tmp_path / "a.fabula")
    assert verify_save(tmp_path / "a.fabula").is_loadable
    assert not list(tmp_path.glob(".save-*"))


def test_a_project_that_does_not_exist_cannot_be_saved(full: Store, tmp_path: Path) -> None:
    with pytest.raises(FabulaError) as refused:
        save_project(full, "nobody", tmp_path / "a.fabula")
    assert refused.value.code is Code.PROJECT_NOT_FOUND
    assert not (tmp_path / "a.fabula").exists()


def test_a_project_that_could_not_be_loaded_again_does_not_replace_a_good_save(full: Store, tmp_path: Path) -> None:
    save_project(full, PROJECT, tmp_path / "a.fabula")
    good = (tmp_path / "a.fabula").read_bytes()
    with full.write(project=PROJECT) as tx:
        tx.update_rows(documents, {"parent_id": "a"}, documents.c.id == "z-part")
    with pytest.raises(FabulaError) as refused:
        save_project(full, PROJECT, tmp_path / "a.fabula")
    assert_says(refused.value, Code.SAVE_DAMAGED, "below itself")
    assert (tmp_path / "a.fabula").read_bytes() == good


@pytest.mark.parametrize("place", ["no/such/folder/a.fabula", "file/a.fabula", "folder", "pipe"])
def test_a_place_that_cannot_be_written_to_is_refused_in_words(place: str, tmp_path: Path) -> None:
    store = Store.open(tmp_path / "data")
    projects.create(store, "Mine", project_id="mine")
    (tmp_path / "file").write_text("no folder")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(FabulaError) as refused:
        save_project(store, "mine", tmp_path / place)
    assert_says(refused.value, Code.STORE_READ_ONLY)
    assert ".part" not in str(refused.value)  # a name that nobody gave
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "pipe").is_fifo()
    store.close()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a file system that nobody can write to")
def test_a_read_only_folder_is_refused_in_words(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "data")
    projects.create(store, "Mine", project_id="mine")
    with pytest.raises(FabulaError) as refused:
        save_project(store, "mine", Path("/proc/self/a.fabula"))
    assert_says(refused.value, Code.STORE_READ_ONLY)
    store.close()


_ON_A_FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from fabula.core.errors import FabulaError
from fabula.store.save.saving import save_project
from fabula.store.store import Store

store = Store.open(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
try:
    save_project(store, "mine", Path(sys.argv[2]))
except FabulaError as error:
    print(error.code.value, error.sentence)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="files cannot be limited there")
@pytest.mark.parametrize("room", [0, 50_000, 260_000])
def test_a_full_disk_leaves_no_partial_file_and_keeps_the_older_one(room: int, tmp_path: Path) -> None:
    store = Store.open(tmp_path / "data")
    projects.create(store, "Mine", project_id="mine")
    with store.write(project="mine") as tx:
        tx.insert(documents, {"id": "d", "text": os.urandom(200_000).hex()})
    store.close()
    folder = tmp_path / "saves"
    folder.mkdir()
    (folder / "a.fabula").write_text("an older save")
    command = [sys.executable, "-c", _ON_A_FULL_DISK, str(tmp_path / "data"), str(folder / "a.fabula"), str(room)]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    if room == 260_000:
        assert said.stdout == "", "there was room enough"
        assert zipfile.is_zipfile(folder / "a.fabula")
    else:
        assert said.stdout.startswith("STORE_DISK_FULL The disk is full"), said
        assert (folder / "a.fabula").read_text() == "an older save"
    assert [path.name for path in folder.iterdir()] == ["a.fabula"]


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Chapter 1: The Fog", "chapter-1-the-fog"),
        ("第七封信", "第七封信"),
        ("../../x", "x"),
        ("  ", ""),
        ("CON", "con"),
        ("a" * 300, "a" * 40),
        ("🏮", ""),
        ("Ünïcode_and_more", "ünïcode-and-more"),
    ],
)
def test_titles_become_parts_of_names(title: str, expected: str) -> None:
    assert make_slug(title) == expected
