"""Lists of odd material: nothing in a title or a text steers the terminal, tables stay aligned, pipes get it whole."""

from __future__ import annotations

import re

import pytest
from rich.cells import cell_len

from tests.cli.test_codex import Room, room
from tests.cli.test_tables import run_in_terminal

__all__ = ["room"]
STYLES = re.compile(r"\x1b\[[0-9;]*m")
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")  # their effect ends with the line: only cells need care
TITLES = {
    "empty": "",
    "long": "The very long road " * 10 + "to the sea",
    "right to left": "הים \u202eוהמגדלור\u202c",
    "emoji": "The 🌊 and the 👩‍👩‍👧 🏴‍☠️",
    "controls": "Bell\x07 and back\x08space \x9b31m",
    "ANSI escapes": "\x1b]0;owned\x07\x1b[31mRed\x1b[2J",
}
LISTS = (
    ("projects",),
    ("chapter", "list", "2"),
    ("codex", "list", "2"),
    ("constraint", "list", "2"),
    ("memory", "list", "2"),
    ("outline", "list", "2"),
    ("synopsis", "list", "2"),
    ("lorebook", "list", "2"),
    ("preset", "list", "2"),
    ("jobs", "list", "2"),
    ("runs", "2"),
    ("undo", "2", "--list"),
)


def make_printable(title: str) -> str:
    """Return a title as a cell shows it."""
    return DIRECTION.sub("", CONTROL.sub("", title)).strip()


def fill(room: Room, kind: str) -> str:
    """Make project 2, full of one kind of odd material; return its title."""
    title = TITLES[kind]
    room.run("project", "delete", "Coast", "--yes")
    room.run("new", "Odd" if kind == "empty" else title)
    if kind == "empty":
        return ""
    (room.folder / "text.md").write_text(title * 3, "utf-8")
    room.run("chapter", "new", "2", title, "--text", "text.md")
    room.run("codex", "add", "2", CONTROL.sub("", title))  # the codex refuses control characters
    room.run("constraint", "add", "2", title)
    room.run("memory", "remember", "2", title)
    room.run("outline", "add", "2", "1", title)
    room.run("lorebook", "new", "2", title)
    return title


@pytest.mark.parametrize("kind", TITLES)
def test_no_list_writes_odd_material_raw(room: Room, kind: str) -> None:
    title = fill(room, kind)
    for words in LISTS:
        said = room.run(*words)
        assert CONTROL.findall(said) == [], words
        if words[:2] in (("projects",), ("chapter", "list"), ("codex", "list"), ("constraint", "list")):
            assert make_printable(title) in said


@pytest.mark.parametrize("kind", TITLES)
def test_a_table_of_odd_material_fits_eighty_columns(room: Room, kind: str) -> None:
    fill(room, kind)
    for words in (("chapter", "list", "2"), ("codex", "list", "2")):
        shown = STYLES.sub("", run_in_terminal(*words, folder=room.folder, columns=80)).replace("\r\n", "\n")
        assert CONTROL.findall(shown) == []
        assert DIRECTION.findall(shown) == []
        assert all(cell_len(line) <= 80 for line in shown.splitlines())


def test_a_chapter_of_a_megabyte_is_listed_shown_whole_and_cut_nowhere(room: Room) -> None:
    text = "She came down to the water. " * 36_000
    (room.folder / "long.md").write_text(f"# Long\n\n## One\n\n{text}\n\n## Two\n", "utf-8")
    room.run("import", "long.md")
    listed = room.run("chapter", "list", "Long")
    assert f"{len(text):,}" in listed
    assert text.strip() in room.run("chapter", "show", "Long", "1")
    assert room.run("chapter", "show", "Long", "2").strip() in ("", "Two", "## Two")
