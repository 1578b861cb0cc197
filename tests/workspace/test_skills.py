"""Skills of a project: added, replaced and removed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.settings import edits
from fabula.workspace.project import ProjectHandle
from fabula.workspace.skills import list_user_skills

SING = '[template]\nen = "Sing it, {{ title }}."'


def test_a_skill_is_added_and_removed(coast: ProjectHandle, tmp_path: Path) -> None:
    coast.skills.add("sing", SING)
    assert coast.skills.list_skills().skills["sing"].origin == "project"
    assert "sing" not in list_user_skills().skills
    (tmp_path / "hum.toml").write_text(SING, "utf-8")
    assert {"sing", "hum"} <= coast.skills.list_skills(folder=tmp_path).skills.keys()
    assert "hum" in list_user_skills(folder=tmp_path).skills
    coast.skills.remove("sing")
    assert "sing" not in coast.skills.list_skills().skills


def test_bad_input_is_refused(coast: ProjectHandle, read_only_coast: ProjectHandle) -> None:
    calls: list[tuple[Callable[[], None], Code]] = [
        (lambda: coast.skills.add("sing", "answer ="), Code.SKILL_INVALID),
        (lambda: coast.skills.remove("sing"), Code.STORE_NOT_FOUND),
        (lambda: read_only_coast.skills.add("sing", SING), Code.PROJECT_READ_ONLY),
    ]
    for call, code in calls:
        with pytest.raises(FabulaError) as refusal:
            call()
        assert refusal.value.code is code


def test_the_201st_skill_of_a_project_is_refused_and_the_others_can_still_be_replaced(
    coast: ProjectHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edits, "MAX_RESERVED", 3)
    for name in ("sing", "hum", "whistle", "sing"):
        coast.skills.add(name, SING)
    with pytest.raises(FabulaError, match="3 skills") as refusal:
        coast.skills.add("shout", SING)
    assert refusal.value.code is Code.SETTING_INVALID
    assert "shout" not in coast.skills.list_skills().skills
