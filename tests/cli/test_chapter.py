"""Chapters, revisions, projects and undo from the command line."""

from __future__ import annotations

import shlex
import stat
import sys
from pathlib import Path

import pytest

from tests.cli.test_codex import Room, room

__all__ = ["room"]


def chapters(room: Room) -> list[str]:
    return [one["title"] for one in room.read("chapter", "list", "Coast")]


def make_editor(room: Room, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    path = room.folder / "editor.py"
    path.write_text(f"import sys, pathlib\np = pathlib.Path(sys.argv[1])\n{program}\n", "utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("VISUAL", f"{shlex.quote(sys.executable)} {shlex.quote(str(path))}")


def test_chapters_are_added_moved_merged_split_deleted_and_brought_back(room: Room) -> None:
    before = chapters(room)
    assert "is added" in room.run(
        "chapter", "new", "Coast", "The Bell", "--after", "1", "--text", "-", stdin="It rang. Twice."
    )
    assert chapters(room) == [before[0], "The Bell", *before[1:]]
    room.run("chapter", "move", "Coast", "The Bell", "--before", "1")
    assert chapters(room)[0] == "The Bell"
    room.run("chapter", "split", "Coast", "The Bell:It rang.", "Again")
    assert chapters(room)[:2] == ["The Bell", "Again"]
    assert room.read("chapter", "show", "Coast", "2")["text"] == "Twice."
    assert "both" in room.run("chapter", "merge", "Coast", "The Bell", "Again")
    assert room.read("chapter", "show", "Coast", "1")["text"] == "It rang.\n\nTwice."
    assert "fabula undo" in room.run("chapter", "delete", "Coast", "The Bell")
    assert chapters(room) == before
    assert "The Bell" in room.run("undo", "Coast")
    assert chapters(room) == ["The Bell", *before]
    assert "The Bell" in room.run("redo")
    for _ in range(5):
        room.run("undo")
    assert chapters(room) == before
    said = room.run("undo", "Coast")
    assert "Taken back: new project: Coast." in said
    assert "is gone" in said
    assert "nothing to undo" in room.run("undo", code=2)
    assert "is back" in room.run("redo")


def test_an_unknown_chapter_is_refused_with_the_nearest_name(room: Room) -> None:
    room.run("chapter", "new", "Coast", "The Bell")
    refused = room.run("chapter", "show", "Coast", "The Blel", code=2)
    assert "DOCUMENT_UNKNOWN" in refused
    assert "The Bell" in refused
    assert "REQUEST_INVALID" in room.run("chapter", "move", "Coast", "The Bell", code=2)
    assert "REQUEST_INVALID" in room.run("chapter", "replace", "Coast", "The Bell", code=2)


def test_an_edit_in_the_editor_is_stored_and_a_conflict_keeps_the_text_and_names_the_commands(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    room.run("chapter", "new", "Coast", "The Bell", "--text", "-", stdin="It rang.")
    make_editor(room, monkeypatch, 'p.write_text("It rang twice.", "utf-8")')
    assert "revision 2" in room.run("chapter", "edit", "Coast", "The Bell")
    assert "unchanged" in room.run("chapter", "edit", "Coast", "The Bell")
    elsewhere = (
        "import subprocess\n"
        'subprocess.run([sys.executable, "-m", "fabula.cli.main", "chapter", "replace", "Coast", "The Bell", "-"], '
        'input=b"It rang elsewhere.", check=True)\n'
        'p.write_text("Mine.", "utf-8")'
    )
    make_editor(room, monkeypatch, elsewhere)
    assert "DOCUMENT_STALE" in room.run("chapter", "edit", "Coast", "The Bell", code=2)
    kept = next(line for line in room.aside.splitlines() if ".md" in line)
    path = Path(kept[kept.index("/") :].rstrip("."))
    assert path.read_text("utf-8") == "Mine."
    for command in (
        'make your change in it: fabula chapter show Coast "The Bell"',
        'meanwhile: fabula revision diff Coast "The Bell"',
        f'newer one: fabula chapter replace Coast "The Bell" {path}',
    ):
        assert command in room.aside
    path.unlink()
    assert room.read("chapter", "show", "Coast", "The Bell")["text"] == "It rang elsewhere."


def test_words_are_replaced_in_the_whole_book_and_back(room: Room) -> None:
    before = [room.read("chapter", "show", "Coast", one["id"])["text"] for one in room.read("chapter", "list", "Coast")]
    assert "replaced" in room.run("chapter", "replace", "Coast", "*", "--words", "Mara", "--by", "Eleanor")
    assert "TEXT_INVALID" in room.run("chapter", "replace", "Coast", "*", "--words", "zzzz", "--by", "y", code=2)
    room.run("undo", "Coast")
    after = [room.read("chapter", "show", "Coast", one["id"])["text"] for one in room.read("chapter", "list", "Coast")]
    assert after == before


def test_revisions_are_listed_compared_restored_and_labelled(room: Room) -> None:
    room.run("chapter", "new", "Coast", "The Bell", "--text", "-", stdin="It rang.")
    assert "No earlier text" in room.run("revision", "list", "Coast", "The Bell")
    room.run("revision", "label", "Coast", "The Bell", "first draft")
    room.run("chapter", "replace", "Coast", "The Bell", "-", stdin="It rang twice.")
    (kept,) = room.read("revision", "list", "Coast", "The Bell")
    assert (kept["revision"], kept["label"]) == (1, "first draft")
    assert "It rang{+ twice+}." in room.run("revision", "diff", "Coast", "The Bell")
    (line,) = room.read("revision", "diff", "Coast", "The Bell")
    assert [part["text"] for part in line["parts"] if part["kind"] == "added"] == [" twice"]
    assert "labelled" in room.run("revision", "list", "Coast", "The Bell")
    assert "same" in room.run("revision", "diff", "Coast", "The Bell", "2", "2")
    assert "revision 3" in room.run("revision", "restore", "Coast", "The Bell", "1")
    assert room.read("chapter", "show", "Coast", "The Bell")["text"] == "It rang."
    assert "STORE_NOT_FOUND" in room.run("revision", "restore", "Coast", "The Bell", "99", code=2)


def test_a_project_is_renamed_described_deleted_and_restored(room: Room) -> None:
    assert "now The Lamp" in room.run("project", "rename", "Coast", "The Lamp")
    assert "written in Chinese" in room.run("project", "language", "The Lamp", "zh")
    assert room.read("project", "info", "The Lamp")["language"] == "zh"
    assert "PROJECT_INVALID" in room.run("project", "language", "The Lamp", "fr", code=2)
    room.run("project", "language", "The Lamp", "en")
    assert room.read("project", "info", "The Lamp")["chapters"] == 7
    room.run("project", "delete", "The Lamp", "--yes")
    assert room.read("projects") == []
    assert room.read("project", "restore")[0]["title"] == "The Lamp"
    assert "is back" in room.run("undo")
    assert [one["title"] for one in room.read("projects")] == ["The Lamp"]
    room.run("project", "delete", "The Lamp", "--yes")
    assert "is back" in room.run("project", "restore", "The Lamp")
    assert "PROJECT_NOT_FOUND" in room.run("project", "restore", "Nowhere", code=3)


def test_a_chapter_happens_before_another_one_and_again_where_it_is_read(room: Room) -> None:
    def order() -> list[int]:
        documents = room.read("timeline", "Coast")["documents"]
        return [one["number"] for one in sorted(documents, key=lambda one: one["storyIndex"])]

    assert "number 2 of 7" in room.run("chapter", "happens", "Coast", "5", "--before", "2")
    assert order() == [1, 5, 2, 3, 4, 6, 7]
    room.run("chapter", "happens", "Coast", "7", "--before", "1")
    room.run("chapter", "happens", "Coast", "1", "--after", "6")
    assert order() == [7, 5, 2, 3, 4, 6, 1]
    assert [one["number"] for one in room.read("timeline", "Coast")["documents"] if one["happensElsewhere"]] == [
        1,
        5,
        7,
    ]
    for number in (1, 5, 7):
        room.run("chapter", "happens", "Coast", str(number))
    assert order() == [1, 2, 3, 4, 5, 6, 7]
    assert "itself" in room.run("chapter", "happens", "Coast", "3", "--after", "3", code=2)
    assert "not both" in room.run("chapter", "happens", "Coast", "3", "--after", "4", "--before", "2", code=2)


def test_a_chapter_is_told_through_the_eyes_of_a_character_or_of_nobody(room: Room) -> None:
    assert "through the eyes of Grace" in room.run("chapter", "viewpoint", "Coast", "2", "Grace")
    assert room.read("chapter", "show", "Coast", "2")["pov"] == "grace"
    assert "Mara Venn" in room.run("chapter", "viewpoint", "Coast", "2", "Mara Ven", code=0)
    assert "Did you mean" in room.run("chapter", "viewpoint", "Coast", "2", "Mira", code=2)
    assert "nobody" in room.run("chapter", "viewpoint", "Coast", "2")
    assert room.read("chapter", "show", "Coast", "2")["pov"] is None
    room.run("undo", "Coast")
    assert room.read("chapter", "show", "Coast", "2")["pov"] == "mara"
