"""Errors about files: a missing one, a folder, an empty one, one of another kind; in both languages."""

from __future__ import annotations

import re

import pytest

from tests.cli.test_codex import Room, room

__all__ = ["room"]
COMMANDS = {
    "verify": ("verify", "FILE"),
    "load": ("load", "FILE"),
    "import": ("import", "FILE"),
    "lorebook import": ("lorebook", "import", "Coast", "FILE"),
    "preset set": ("preset", "set", "Coast", "X", "FILE"),
    "chapter replace": ("chapter", "replace", "Coast", "1", "FILE"),
    "constraint check": ("constraint", "check", "Coast", "FILE"),
    "skills --add": ("skills", "Coast", "--add", "FILE"),
    "memory record": ("memory", "record", "Coast", "FILE"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_file_is_not_found_with_the_nearest_name(
    command: str, room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    (room.folder / "coast.fabula").write_text("")
    words = [str(room.folder / "cost.fabula") if word == "FILE" else word for word in COMMANDS[command]]
    said = room.run(*words, code=2)
    assert "FILE_NOT_FOUND: There is no file " in said
    assert "cost.fabula. Did you mean coast.fabula? Nothing was changed." in said
    monkeypatch.setenv("FABULA_LANGUAGE", "zh")
    assert "是不是 coast.fabula？未作任何更改。" in room.run(*words, code=2)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", ["folder", "empty", "noise"])
def test_a_folder_an_empty_file_and_noise_are_refused_in_plain_words(command: str, kind: str, room: Room) -> None:
    path = room.folder / "thing.json"
    if kind == "folder":
        path.mkdir()
    else:
        path.write_bytes(b"" if kind == "empty" else bytes(range(128, 256)) * 9)
    accepts_empty = kind == "empty" and command in ("constraint check", "chapter replace")
    words = [str(path) if word == "FILE" else word for word in COMMANDS[command]]
    said = room.run(*words, code=0 if accepts_empty else 2)
    assert accepts_empty or re.search(r"^(?:[A-Z]+_)+[A-Z]+: ", said, re.MULTILINE)
    assert "Errno" not in said
    assert not re.search(r"\.\.(?!/)|Traceback", said)


def test_what_was_undone_ends_with_one_full_stop(room: Room) -> None:
    room.run("memory", "remember", "Coast", "Likes short chapters.")
    assert "Likes short chapters.\n" in room.run("undo", "Coast")


def test_the_identity_is_set_emptied_and_returned_to_the_built_in_one(room: Room) -> None:
    built_in = room.run("preset", "identity", "Coast")
    assert built_in.startswith("You are the writing companion")
    room.run("preset", "identity", "Coast", "You are the keeper of Harrow Light.")
    assert room.run("assemble", "Coast", "-q").startswith("You are the keeper of Harrow Light.")
    assert "without an identity" in room.run("preset", "identity", "Coast", "--none")
    assert "You are the writing companion" not in room.run("assemble", "Coast", "-q")
    room.run("undo", "Coast")
    assert "keeper" in room.run("preset", "identity", "Coast")
    assert room.run("preset", "identity", "Coast", "--built-in") == built_in
    assert "only one of them" in room.run("preset", "identity", "Coast", "x", "--none", code=2)
    assert "To begin prompts without one: --none" in room.run("preset", "identity", "Coast", " ", code=2)
