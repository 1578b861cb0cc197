"""Skills available to a project: the built-in ones, those in the user's folder, and the project's own.

A later one replaces an earlier one of the same id. A project in the store keeps its skills as settings `skill.NAME`
whose value is the text of the file; a project folder has a sub-folder `skills`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from platformdirs import user_config_path

from fabula.settings import edits as settings_of
from fabula.skills.files import MAX_FILES, Skills, load_built_in, parse_skill, read_folder
from fabula.store.transaction import WriteTransaction

FOLDER_VARIABLE = "FABULA_SKILLS"  # the environment variable that names another folder
SETTING_PREFIX = "skill."


class FolderSkills(Struct, frozen=True):
    """The texts of the skills that a project folder brings along, by id: what a copy in the store keeps."""

    texts: Mapping[str, str]


def find_user_skills_folder() -> Path:
    """The folder of the user's skills, whether or not it exists."""
    path = os.environ.get(FOLDER_VARIABLE, "").strip()
    return Path(path) if path else user_config_path("fabula") / "skills"


def load_user_skills() -> Skills:
    """Load the built-in skills and those in the user's folder."""
    files = read_folder(find_user_skills_folder())
    return load_built_in().with_files(files, "folder") if files else load_built_in()


def load_project_skills(settings: Mapping[str, Any]) -> Skills:
    """Load the skills for a project in the store, which may have some in its settings."""
    own = sorted(
        (name.removeprefix(SETTING_PREFIX), value if isinstance(value, str) else "\x00")
        for name, value in settings.items()
        if name.startswith(SETTING_PREFIX)
    )[:MAX_FILES]
    return load_user_skills().with_files(own, "project") if own else load_user_skills()


def load_folder_skills(folder: Path) -> Skills:
    """Load the skills for a project folder, which may have a sub-folder `skills`."""
    own = read_folder(folder / "skills")
    return load_user_skills().with_files(own, "project") if own else load_user_skills()


def read_folder_skills(folder: Path) -> FolderSkills:
    """Read the texts of the valid skills in the sub-folder `skills` of a project folder."""
    own = Skills({}).with_files(files := read_folder(folder / "skills"), "project")
    texts = {name.removesuffix(".toml"): text for name, text in files}
    return FolderSkills({name: text for name, text in texts.items() if name in own.skills})


def save_project_skill(tx: WriteTransaction, name: str, text: str) -> None:
    """Store a skill with a project; the error for an invalid one names its line."""
    parse_skill(name, text, origin="project")
    settings_of.set_value(tx, SETTING_PREFIX + name, text)


def remove_project_skill(tx: WriteTransaction, name: str) -> None:
    """Remove a skill from a project; a built-in one of that name is available again."""
    settings_of.reset(tx, SETTING_PREFIX + name)
