"""Commands about stored projects, as a person types them."""

from __future__ import annotations

import json
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

import pytest
import typer
from sqlalchemy import text

from fabula.cli.main import main
from fabula.memory import edits as memory
from fabula.store.connections import DATABASE_FILE
from fabula.store.doctor import CHECKS
from fabula.store.store import LOCAL_USER, Store
from tests.blank import lay
from tests.cli.processes import start_fabula
from tests.jobs.fake_jobs import wait_until

FABULA = Path(sys.executable).parent / "fabula"


class Desk:
    """A folder of one's own, and the command line in it."""

    def __init__(
        self, folder: Path, store: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.folder = folder
        self.store = store
        self._patch = monkeypatch
        self._heard = capsys
        monkeypatch.chdir(folder)
        monkeypatch.setenv("FABULA_STORE", store)
        monkeypatch.setenv("FABULA_DATA", str(folder))

    def run(self, *words: str, code: int = 0) -> str:
        """What a command says: to the reader where it goes well, in one line of complaint where not."""
        self._patch.setattr(sys, "argv", ["fabula", *words])
        with pytest.raises(SystemExit) as left:
            main()
        said = self._heard.readouterr()
        assert (left.value.code or 0) == code, said.out + said.err
        return said.out if code in (0, 1) else said.err

    def only_project(self) -> dict[str, str]:
        """The one project there is."""
        (found,) = json.loads(self.run("projects", "--json"))
        return {str(key): str(value) for key, value in found.items()}


@pytest.fixture
def desk(tmp_path: Path, prepared: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    """A desk for each engine."""
    return Desk(tmp_path, prepared, monkeypatch, capsys)


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    """A desk whose store is a file, with a project in it."""
    desk = Desk(tmp_path, str(lay(tmp_path / "data")), monkeypatch, capsys)
    desk.run("new", "Coast", "--from", "sample:wugang")
    return desk


NOVEL = "# The Tide\n\n## One\n\nShe came down to the *water*.\n\n## Two\n\nIt had gone out.\n"


def test_the_installed_program_makes_and_lists_a_project(tmp_path: Path) -> None:
    env = {"PATH": "", "HOME": str(tmp_path), "FABULA_DATA": str(tmp_path / "data")}
    for words, said in (
        (("new", "My Coast", "--from", "sample:lantern_coast"), "is project"),
        (("projects",), "My Coast"),
    ):
        done = subprocess.run([FABULA, *words], cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
        assert said in done.stdout
        assert done.stderr == ""


def test_a_store_with_nothing_in_it_says_what_to_do(desk: Desk) -> None:
    assert "fabula new" in desk.run("projects")
    assert json.loads(desk.run("projects", "--json")) == []


def test_a_project_made_from_a_sample_can_be_assembled_by_its_title(desk: Desk) -> None:
    said = desk.run("new", "My Coast", "--from", "sample:lantern_coast")
    assert "is project 1." in said
    asked = ("-d", "ch-01", "-w", "8192", "--quiet")
    assert desk.run("assemble", "My Coast", *asked) == desk.run("assemble", "sample:lantern_coast", *asked)
    assert "Mara Venn" in desk.run("why", "Mara Venn", "My Coast", "-d", "ch-01")


def test_a_manuscript_comes_in_and_goes_out(desk: Desk) -> None:
    (desk.folder / "tide.md").write_text(NOVEL)
    said = desk.run("import", "tide.md")
    assert "2 documents" in said
    assert desk.only_project()["title"] == "The Tide"
    for name in ("out.md", "out.epub", "out.docx"):
        desk.run("export", "The Tide", name)
    assert "She came down to the *water*." in (desk.folder / "out.md").read_text()
    assert "EXPORT_REFUSED" in desk.run("export", "The Tide", "out.md", code=2)
    desk.run("export", "The Tide", "out.md", "--overwrite")
    said = desk.run("import", "out.epub", "--into", "The Tide")
    assert "2 documents" in said
    assert "It had gone out." in desk.run("assemble", "The Tide", "--quiet")


def test_a_chinese_manuscript_makes_a_chinese_project(desk: Desk) -> None:
    (desk.folder / "雾.txt").write_text("第一章 雾\n\n她走到海边，雾很大，什么也看不见。\n\n第二章 灯\n\n灯亮了。\n")
    desk.run("import", "雾.txt")
    found = desk.only_project()
    assert (found["language"], found["title"]) == ("zh", "雾")


def test_a_book_in_a_language_we_do_not_speak_comes_in_all_the_same(desk: Desk) -> None:
    (desk.folder / "mer.md").write_text("---\ntitle: La Mer\nlanguage: fr\n---\n\n# Un\n\nElle descendit.\n")
    assert "language is 'fr'" in desk.run("import", "mer.md")
    assert desk.only_project()["language"] == "en"
    assert "PROJECT_INVALID" in desk.run("import", "mer.md", "--language", "fr", code=2)


def test_a_project_folder_comes_in_as_the_project_it_is(desk: Desk) -> None:
    folder = desk.folder / "mine"
    (folder / "chapters").mkdir(parents=True)
    (folder / "project.toml").write_text(
        'id = "mine"\ntitle = "The Quay"\n[[chapters]]\nid = "one"\nfile = "chapters/1.md"\n'
    )
    (folder / "chapters" / "1.md").write_text("She waited on the quay.")
    (folder / "constraints.toml").write_text('[[constraint]]\nid = "calm"\ntext = "No storms."\n')
    for path in ("mine", "mine/project.toml"):
        assert "Imported 1 document, 23 characters into The Quay" in desk.run("import", path)
    assert [found["title"] for found in json.loads(desk.run("projects", "--json"))] == ["The Quay", "The Quay"]
    ident = json.loads(desk.run("projects", "--json"))[0]["id"]
    assert "No storms." in desk.run("assemble", ident, "--quiet")


def test_a_save_is_not_imported_but_loaded(desk: Desk) -> None:
    desk.run("new", "Coast")
    desk.run("save", "Coast")
    said = desk.run("import", "coast.fabula", code=2)
    assert said.startswith("IMPORT_UNREADABLE: ")
    assert "fabula load" in said


def test_projects_are_listed_with_their_length(desk: Desk) -> None:
    (desk.folder / "tide.md").write_text(NOVEL)
    desk.run("import", "tide.md")
    found = desk.only_project()
    assert (found["documents"], found["characters"]) == ("2", str(len("She came down to the *water*.It had gone out.")))
    assert re.search("The Tide .* 2 +45$", desk.run("projects"))


def test_an_import_that_fails_leaves_no_project_behind(desk: Desk) -> None:
    (desk.folder / "broken.docx").write_bytes(b"PK\x03\x04 and then nothing")
    assert "IMPORT_UNREADABLE" in desk.run("import", "broken.docx", code=2)
    assert json.loads(desk.run("projects", "--json")) == []


def test_a_project_is_saved_verified_and_loaded(desk: Desk) -> None:
    desk.run("new", "Coast", "--from", "sample:lantern_coast")
    desk.run("save", "Coast", "coast.fabula")
    assert "is whole" in desk.run("verify", "coast.fabula")
    assert json.loads(desk.run("verify", "coast.fabula", "--json"))["loads"] is True
    assert "is loaded as project" in desk.run("load", "coast.fabula", "--yes")
    assert len(json.loads(desk.run("projects", "--json"))) == 2


def test_replacing_a_project_keeps_what_was_there(desk: Desk) -> None:
    desk.run("new", "Coast", "--from", "sample:lantern_coast")
    desk.run("save", "Coast", "coast.fabula")
    before = desk.only_project()["id"]
    said = desk.run("load", "coast.fabula", "--yes", "--replace", "Coast")
    assert "What was there before is in" in said
    assert desk.only_project()["id"] == before


def test_a_damaged_save_is_refused_in_one_line(desk: Desk) -> None:
    desk.run("new", "Coast", "--from", "sample:wugang")
    desk.run("save", "Coast", "coast.fabula")
    whole = (desk.folder / "coast.fabula").read_bytes()
    (desk.folder / "half.fabula").write_bytes(whole[: len(whole) // 2])
    for command in ("verify", "load"):
        said = desk.run(command, "half.fabula", code=2)
        assert said.startswith("SAVE_DAMAGED: ")
        assert said.count("\n") == 1
    assert len(json.loads(desk.run("projects", "--json"))) == 1


def test_a_save_can_go_without_the_person_and_says_what_stayed_as_it_was(desk: Desk) -> None:
    desk.run("new", "Coast")
    store = Store.open(desk.store)
    with store.write(user=LOCAL_USER) as tx:
        memory.write_profile(tx, "Writes at night.")
    desk.run("save", "Coast", "mine.fabula")
    desk.run("save", "Coast", "given.fabula", "--without-person")
    assert "profile" in desk.run("verify", "mine.fabula")
    assert "person/profiles" not in desk.run("verify", "given.fabula")
    with store.write(user=LOCAL_USER) as tx:
        memory.write_profile(tx, "Writes at dawn.")
    store.close()
    said = desk.run("load", "mine.fabula", "--yes", "--with-person")
    assert "1 of person/profiles differ in the save and were not replaced" in said
    assert "were not replaced" not in desk.run("load", "mine.fabula", "--yes")
    assert "were not replaced" not in desk.run("load", "given.fabula", "--yes")


def test_a_load_shows_what_the_file_would_change_and_asks_first(desk: Desk) -> None:
    desk.run("new", "Coast", "--from", "sample:lantern_coast")
    store = Store.open(desk.store)
    with store.write(user=LOCAL_USER) as tx:
        memory.write_profile(tx, "Writes at night.")
    store.close()
    desk.run("save", "Coast", "coast.fabula")
    before = desk.run("projects", "--json")
    said = desk.run("load", "coast.fabula", "--dry-run")
    assert "holds Coast" in said
    assert "belongs to a person, which stays out" in said
    shown = json.loads(desk.run("load", "coast.fabula", "--dry-run", "--json"))
    assert (shown["title"], shown["person"]["profileCharacters"]) == ("Coast", 16)
    assert "REQUEST_INVALID" in desk.run("load", "coast.fabula", code=2)
    assert desk.run("projects", "--json") == before
    assert json.loads(desk.run("load", "coast.fabula", "--yes", "--json"))["backup"] is None


@pytest.mark.parametrize("as_json", [False, True])
def test_whoever_is_asked_has_seen_what_the_file_would_change(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    desk.run("new", "Coast", "--from", "sample:lantern_coast")
    desk.run("series", "new", "All Coasts")
    desk.run("save", "Coast", "coast.fabula")
    before = desk.run("projects", "--json")
    seen: list[str] = []

    def refuse(question: str, **_: object) -> bool:
        shown = capsys.readouterr()
        assert not (as_json and shown.out)
        seen.append(shown.err if as_json else shown.out)
        return False

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(typer, "confirm", refuse)
    options = ("--json",) if as_json else ()
    desk.run("load", "coast.fabula", "--replace", "Coast", *options)
    desk.run("load", "coast.fabula", "--join-series", "All Coasts", *options)
    assert "takes the place of your project Coast" in seen[0]
    assert "joins your series All Coasts" in seen[1]
    assert all("holds Coast" in one for one in seen)
    assert desk.run("projects", "--json") == before


def test_the_doctor_finds_a_healthy_store_well(desk: Desk) -> None:
    desk.run("new", "Coast", "--from", "sample:wugang")
    findings = json.loads(desk.run("doctor", "--json"))["findings"]
    assert [found["name"] for found in findings] == [*CHECKS]
    assert not [found for found in findings if found["state"] == "ill"]
    assert "copies" in desk.run("doctor")


def test_the_doctor_makes_no_store_where_there_is_none(desk: Desk) -> None:
    said = desk.run("doctor", "--store", str(desk.folder / "nowhere"), code=2)
    assert said.startswith("STORE_NOT_FOUND: There is no store at")
    assert not (desk.folder / "nowhere").exists()


def test_the_doctor_names_what_is_ill_in_a_file_that_is_no_store(shelf: Desk) -> None:
    (shelf.folder / "data" / DATABASE_FILE).write_bytes(b"Dear diary, " * 1000)
    said = shelf.run("doctor", code=1)
    assert "✗  engine" in said
    assert "damaged" in said
    assert "copies" in said
    assert said.count("\n") == 2 + len(CHECKS)


def test_the_doctor_names_what_is_ill_in_a_file_with_bad_pages(shelf: Desk) -> None:
    file = shelf.folder / "data" / DATABASE_FILE
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    whole = file.read_bytes()
    for start in range(8192, len(whole), 4096 * 3):
        file.write_bytes(whole[:start] + b"\xff" * 4096 + whole[start + 4096 :])
        findings = json.loads(shelf.run("doctor", "--json", code=1))["findings"]
        assert [found["name"] for found in findings] == [*CHECKS]
        assert "integrity" in {found["name"] for found in findings if found["state"] == "ill"}


def test_the_doctor_leaves_a_store_of_another_version_as_it_is(desk: Desk) -> None:
    desk.run("new", "Coast")
    for version, words in (("0000", "upgrades the store"), ("9999", "Use the newer program")):
        store = Store.open(desk.store, inspect_only=True)
        with store.engine.begin() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = :version"), {"version": version})
        store.close()
        said = desk.run("doctor", code=1)
        assert f"version {version}" in said
        assert words in said


def test_the_doctor_says_in_one_line_that_a_server_does_not_answer(shelf: Desk) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    said = shelf.run("doctor", "--store", f"postgresql://somebody@127.0.0.1:{port}/fabula", code=2)
    assert said.startswith("STORE_UNREACHABLE: ")
    assert said.count("\n") == 1


def test_an_unknown_project_is_named_with_those_that_exist(desk: Desk) -> None:
    desk.run("new", "Coast")
    assert "Did you mean Coast?" in desk.run("assemble", "Toast", code=3)


def test_copies_are_listed_and_restored_from_the_command_line(shelf: Desk) -> None:
    assert "No copies yet" in shelf.run("backup", "list")
    shelf.run("projects")  # using a store with a project makes a copy, once a day
    assert "1 project" in shelf.run("backup", "list")
    (copy,) = json.loads(shelf.run("backup", "list", "--json"))
    assert [project["title"] for project in copy["projects"]] == ["Coast"]
    assert "Coast is back" in shelf.run("backup", "restore", "1", "Coast")
    assert "STORE_NOT_FOUND" in shelf.run("backup", "restore", "99", code=2)
    assert "1 project" in shelf.run("backup", "restore", copy["path"], "--whole-store")


def test_an_import_updates_a_project_and_duplicates_nothing(desk: Desk) -> None:
    (desk.folder / "book.md").write_text("# One\n\nMara came.\n\n# Two\n\nShe left.\n")
    desk.run("import", "book.md", "--title", "Book")
    (desk.folder / "book.md").write_text("# One\n\nMara came late.\n\n# Three\n\nThe end of it all.\n")
    assert "Nothing was changed in Book yet." in desk.run(
        "import", "book.md", "--into", "Book", "--update", "--preview"
    )
    told = desk.run("import", "book.md", "--into", "Book", "--update")
    assert all(word in told for word in ("changed", "new", "not in the file", "--remove-missing"))
    (found,) = json.loads(desk.run("projects", "--json"))
    assert found["documents"] == 3
    desk.run("import", "book.md", "--into", "Book", "--update", "--remove-missing")
    (found,) = json.loads(desk.run("projects", "--json"))
    assert found["documents"] == 2
    assert "REQUEST_INVALID" in desk.run("import", "book.md", "--update", code=2)
    (desk.folder / "other.md").write_text("# Elsewhere\n\nNothing of the kind.\n")
    assert "REQUEST_INVALID" in desk.run("import", "other.md", "--into", "Book", "--update", code=2)


def test_a_new_project_keeps_the_skills_of_its_folder(desk: Desk) -> None:
    folder = desk.folder / "coast"
    (folder / "skills").mkdir(parents=True)
    (folder / "project.toml").write_text('title = "Coast"\n[[chapters]]\nid = "a"\nfile = "a.md"\n')
    (folder / "a.md").write_text("She came.")
    built_in = files("fabula") / "skills" / "builtin" / "continue.toml"
    (folder / "skills" / "carry-on.toml").write_text(built_in.read_text("utf-8"), encoding="utf-8")
    (folder / "skills" / "broken.toml").write_text("no skill at all")
    desk.run("new", "Mine", "--from", str(folder))
    assert "carry-on" in desk.run("skills", "Mine")


def test_an_empty_file_makes_no_project(desk: Desk) -> None:
    (desk.folder / "empty.txt").write_text("")
    assert "IMPORT_UNREADABLE" in desk.run("new", "Mine", "--from", "empty.txt", code=2)
    assert "IMPORT_UNREADABLE" in desk.run("import", "empty.txt", code=2)
    assert "No projects yet" in desk.run("projects")


def list_children(pid: int) -> list[int]:
    """The processes that a process has started."""
    stats: list[list[str]] = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            stats.append(path.read_text().rsplit(")", 1))
    return [int(name.split()[0]) for name, rest in stats if int(rest.split()[1]) == pid]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are listed by Linux")
def test_control_c_ends_the_process_that_reads_a_file(desk: Desk) -> None:
    (desk.folder / "long.txt").write_bytes(b"x\n" * 10_000_000)
    running = start_fabula("import", "long.txt", folder=desk.folder)
    wait_until(lambda: bool(list_children(running.pid)))
    (child,) = list_children(running.pid)
    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=60)
    assert running.returncode == 130
    assert told.strip() == ""  # and no word of the child
    wait_until(lambda: not Path(f"/proc/{child}").exists())
    assert json.loads(desk.run("projects", "--json")) == []
