"""Skill files: built-in, of the user, of a project, and invalid ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.core.story import Perspective
from fabula.skills.files import MAX_FILES, Skills, load_built_in, parse_skill, read_folder
from fabula.skills.model import AnswerAction
from fabula.skills.project_skills import load_project_skills, load_user_skills

GOOD = """
answer = "insert"
eyes = "author"
works_on = ["selection", "cursor"]

[title]
en = "Sing"

[model]
temperature = 1.2
stop = ["THE END"]

[template]
en = '''
Sing {{ selection }}.
'''
"""


def test_the_built_in_skills_are_complete() -> None:
    wanted = "continue rewrite expand condense describe dialogue brainstorm critique synopsis extract translate free"
    assert set(wanted.split()) <= set(load_built_in().skills)


def test_a_file_defines_all_of_a_skill() -> None:
    skill = parse_skill("sing", GOOD)
    assert (skill.answer_action, skill.perspective, skill.works_on) == (
        AnswerAction.INSERT,
        Perspective.AUTHOR,
        ("selection", "cursor"),
    )
    assert (skill.generation.temperature, skill.generation.stop) == (1.2, ("THE END",))
    assert skill.templates == {"en": "Sing {{ selection }}.", "zh": "Sing {{ selection }}."}
    assert skill.title_in("zh") == "Sing"


@pytest.mark.parametrize(
    ("ident", "text", "line", "words"),
    [
        ("Bad Name", GOOD, 1, "small letters"),
        ("a", "answer = ", 1, "not TOML"),
        ("a", "\n\nanswer = 'burn'\n[template]\nen = 'x'", 3, "answer"),
        ("a", "\ncolour = 'red'\n[template]\nen = 'x'", 2, "colour"),
        ("a", "[template]\nfr = 'x'", 1, "template"),
        ("a", "answer = 'show'", 1, "template"),
        ("a", "[template]\n[model]\ntemperature = 9", 3, "temperature"),
        ("a", "[template]\nen = 'x'\n[model]\ntemperature = 9", 4, "temperature"),
        ("a", "[template]\nen = 'x'\n[model]\nmax_tokens = 'many'", 4, "max_tokens"),
        ("a", "[template]\nen = '''\nfine\nfine\n{{ secret }}\n'''", 5, "secret"),
        ("a", "[template]\nen = '''\nfine\n{% if %}\n'''", 4, "cannot be read"),
        ("a", "#" * 200_000, 1, "larger"),
        ("a", "answer = 'show'\n" + "a." * 40_000 + "a = 1", 2, "too many parts"),
        ("a", "x = {" + "'a' . " * 15_000 + "a = 1}", 1, "too many parts"),
        ("a", "\x00", 1, "not TOML"),
    ],
)
def test_an_invalid_file_is_refused_with_its_line(ident: str, text: str, line: int, words: str) -> None:
    with pytest.raises(FabulaError) as refusal:
        parse_skill(ident, text)
    assert refusal.value.code is Code.SKILL_INVALID
    assert f"line {line}:" in refusal.value.sentence
    assert words in refusal.value.sentence


def test_an_invalid_file_in_a_folder_does_not_affect_the_others(tmp_path: Path) -> None:
    (tmp_path / "sing.toml").write_text(GOOD, "utf-8")
    (tmp_path / "bad.toml").write_text("answer = ", "utf-8")
    (tmp_path / "latin.toml").write_bytes(b"[template]\nen = '\xe9'")
    (tmp_path / "notes.txt").write_text("not a skill", "utf-8")
    skills = load_built_in().with_files(read_folder(tmp_path), "folder")
    assert skills.skills["sing"].origin == "folder"
    assert set(load_built_in().skills) < set(skills.skills)
    assert len(skills.problems) == 2
    assert any("'bad'" in problem.sentence and "line 1" in problem.sentence for problem in skills.problems)
    assert read_folder(tmp_path / "nowhere") == []


def test_a_project_has_no_more_skills_than_a_folder() -> None:
    many = {f"skill.s{number:04}": GOOD for number in range(MAX_FILES + 50)}
    assert len(load_project_skills(many).skills) <= len(load_user_skills().skills) + MAX_FILES


def test_a_project_skill_replaces_a_built_in_one() -> None:
    skills = Skills(load_built_in().skills).with_files([("continue.toml", GOOD)], "project")
    assert skills.skills["continue"].templates["en"].startswith("Sing")
