"""Which skills a project has: the built-in ones, the person's folder, then the project's own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from platformdirs import user_config_path

from fabula.settings import edits as settings_of
from fabula.skills.files import MOST, Skills, built_in, in_folder, read_skill
from fabula.store.transaction import Writing

FOLDER = "FABULA_SKILLS"  # the variable that names another folder
SETTING = "skill."  # a project's skill is the setting `skill.NAME`, whose value is the file's text


def skills_folder() -> Path:
    """Where a person's own skills lie."""
    named = os.environ.get(FOLDER, "").strip()
    return Path(named) if named else user_config_path("fabula") / "skills"


def own_skills() -> Skills:
    """The built-in skills and those of the person's folder."""
    found = in_folder(skills_folder())
    return built_in().with_files(found, "folder") if found else built_in()


def project_skills(settings: Mapping[str, Any]) -> Skills:
    """The skills of a project of the store, whose settings may hold some."""
    own = sorted(
        (name.removeprefix(SETTING), value if isinstance(value, str) else "\x00")
        for name, value in settings.items()
        if name.startswith(SETTING)
    )[:MOST]
    return own_skills().with_files(own, "project") if own else own_skills()


def folder_skills(folder: Path) -> Skills:
    """The skills of a project folder, which may have a folder `skills` of its own."""
    own = in_folder(folder / "skills")
    return own_skills().with_files(own, "project") if own else own_skills()


def keep(tx: Writing, name: str, text: str) -> None:
    """Keep a skill with a project of the store; one that makes no sense is refused with its line."""
    read_skill(name, text, origin="project")
    settings_of.put(tx, SETTING + name, text)


def leave(tx: Writing, name: str) -> None:
    """Take a skill out of a project; the built-in one of that name, if any, is there again."""
    settings_of.unset(tx, SETTING + name)
