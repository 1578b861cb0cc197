"""What a person can do with the skills of a project: list, add and remove."""

from __future__ import annotations

from pathlib import Path

from fabula.core.messages import message
from fabula.skills.files import Skills, load_built_in, read_folder
from fabula.skills.project_skills import load_user_skills, remove_project_skill, save_project_skill
from fabula.workspace.verbs import ProjectVerbs, label_change, label_removal


class SkillVerbs(ProjectVerbs):
    """The skills that an open project can use, and those of its own."""

    def list_skills(self, *, folder: Path | None = None) -> Skills:
        """List every skill, and what is wrong with files that are left out; `folder` has more skills to add."""
        return _add_folder(self._view.snapshot(Skills) or load_built_in(), folder)

    def add(self, name: str, text: str) -> None:
        """Add a skill, or replace the project's own of that name; the error for an invalid one names its line."""
        with self._write(label_change(message("skill"), name)) as tx:
            save_project_skill(tx, name, text)

    def remove(self, name: str) -> None:
        """Remove a skill from the project; a built-in one of that name is available again."""
        with self._write(label_removal(message("skill"), name)) as tx:
            remove_project_skill(tx, name)


def list_user_skills(*, folder: Path | None = None) -> Skills:
    """List the skills that every project can use: built in, and in the user's folder."""
    return _add_folder(load_user_skills(), folder)


def _add_folder(skills: Skills, folder: Path | None) -> Skills:
    return skills if folder is None else skills.with_files(read_folder(folder), "folder")
