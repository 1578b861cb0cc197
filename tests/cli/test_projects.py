"""Commands about stored projects, as a person types them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


class Desk:
    """A folder of one's own, and the command line in it."""

    def __init__(self, folder: Path, store: str) -> None:
        self.folder = folder
        self.store = store

    def run(self, *words: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "fabula.cli.main", *words],
            cwd=self.folder,
            env={"PATH": "", "HOME": str(self.folder), "FABULA_STORE": self.store, "FABULA_DATA": str(self.folder)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code == 0 else done.stderr

    def only_project(self) -> dict[str, str]:
        """The one project there is."""
        (found,) = json.loads(self.run("projects", "--json"))
        return {str(key): str(value) for key, value in found.items()}


@pytest.fixture
def desk(tmp_path: Path, address: str) -> Desk:
    """A desk for each engine."""
    return Desk(tmp_path, address)


NOVEL = "# The Tide\n\n## One\n\nShe came down to the *water*.\n\n## Two\n\nIt had gone out.\n"


def test_a_store_with_nothing_in_it_says_what_to_do(desk: Desk) -> None:
    assert "fabula new" in desk.run("projects")
    assert json.loads(desk.run("projects", "--json")) == []


def test_a_project_made_from_a_sample_can_be_assembled_by_its_title(desk: Desk) -> None:
    said = desk.run("new", "My Coast", "--from", "sample:lantern_coast")
    assert desk.only_project()["id"] in said
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


def test_an_import_that_fails_leaves_no_project_behind(desk: Desk) -> None:
    (desk.folder / "broken.docx").write_bytes(b"PK\x03\x04 and then nothing")
    assert "IMPORT_UNREADABLE" in desk.run("import", "broken.docx", code=2)
    assert json.loads(desk.run("projects", "--json")) == []


def test_a_project_is_saved_verified_and_loaded(desk: Desk) -> None:
    desk.run("new", "Coast", "--from", "sample:lantern_coast")
    desk.run("save", "Coast", "coast.fabula")
    assert "is whole" in desk.run("verify", "coast.fabula")
    assert json.loads(desk.run("verify", "coast.fabula", "--json"))["loads"] is True
    assert "is loaded as project" in desk.run("load", "coast.fabula")
    assert len(json.loads(desk.run("projects", "--json"))) == 2


def test_replacing_a_project_keeps_what_was_there(desk: Desk) -> None:
    desk.run("new", "Coast", "--from", "sample:lantern_coast")
    desk.run("save", "Coast", "coast.fabula")
    before = desk.only_project()["id"]
    said = desk.run("load", "coast.fabula", "--replace", "Coast")
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


def test_the_doctor_finds_a_healthy_store_well(desk: Desk) -> None:
    desk.run("new", "Coast", "--from", "sample:wugang")
    findings = json.loads(desk.run("doctor", "--json"))["findings"]
    assert {found["name"] for found in findings} >= {"engine", "tables", "versions", "disk", "copies"}
    assert not [found for found in findings if found["state"] == "ill"]
    assert "copies" in desk.run("doctor")


def test_an_unknown_project_is_named_with_those_that_exist(desk: Desk) -> None:
    desk.run("new", "Coast")
    assert "There are: Coast" in desk.run("assemble", "Toast", code=3)
