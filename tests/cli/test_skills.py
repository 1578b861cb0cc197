"""Skills from the command line: the house's, one's own, a project's, and what is wrong with the rest."""

from __future__ import annotations

import pytest

from tests.cli.test_codex import Room, room

__all__ = ["room"]

SING = '[template]\nen = "Sing it, {{ title }}."'


def test_a_stored_project_has_skills_of_its_own(room: Room) -> None:
    (room.folder / "sing.toml").write_text(SING, "utf-8")
    assert "sing" not in room.run("skills", "Coast")
    assert "sing" in room.run("skills", "Coast", "--add", "sing.toml")
    assert "sing" not in room.run("skills")
    listed = {one["id"]: one for one in room.read("skills", "Coast")["skills"]}
    assert (listed["sing"]["origin"], listed["sing"]["worksOn"]) == ("project", ["cursor"])
    said = room.run("write", "Coast", "--provider", "clipboard", "--skill", "sing", "--window", "4096")
    assert "Sing it, " in said
    assert "sing" not in room.run("skills", "Coast", "--remove", "sing")
    assert "STORE_NOT_FOUND" in room.run("skills", "Coast", "--remove", "sing", code=2)


@pytest.mark.parametrize(
    ("text", "words"),
    [("answer = 'burn'\n" + SING, "line 1"), ("[template]\nen = '''\nfine\n{{ secret }}\n'''", "line 4")],
)
def test_a_bad_one_is_not_taken_in_and_its_line_is_named(room: Room, text: str, words: str) -> None:
    (room.folder / "sing.toml").write_text(text, "utf-8")
    assert words in room.run("skills", "Coast", "--add", "sing.toml", code=2)
    assert words in room.run("setting", "set", "Coast", "skill.sing", text, code=2)
    assert "FILE_NOT_FOUND" in room.run("skills", "Coast", "--add", "nowhere.toml", code=2)
    assert "CONTEXT_REQUEST_INVALID" in room.run("skills", "--add", "sing.toml", code=2)


def test_a_bad_one_of_a_project_folder_is_told_with_its_line(room: Room) -> None:
    folder = room.folder / "book"
    (folder / "skills").mkdir(parents=True)
    (folder / "project.toml").write_text('title = "Book"\nlanguage = "en"\n', "utf-8")
    (folder / "skills" / "sing.toml").write_text(SING, "utf-8")
    (folder / "skills" / "bad.toml").write_text("\nanswer =", "utf-8")
    (folder / "skills" / "continue.toml").write_text("\n\nanswer =", "utf-8")
    assert "sing" in room.run("skills", str(folder))
    assert "'bad' is left out because of line 2" in room.aside
    refused = room.run("write", str(folder), "--provider", "clipboard", "--skill", "bad", code=2)
    assert "SKILL_INVALID" in refused
    assert "line 2" in refused
    room.run("write", str(folder), "--provider", "clipboard")
    assert "'continue' is left out because of line 3" in room.aside
    (folder / "skills" / "continue.toml").write_text(SING, "utf-8")
    room.run("write", str(folder), "--provider", "clipboard")
    assert "'continue' is this project's own" in room.aside
