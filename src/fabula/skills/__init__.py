"""Skills: tasks for the model, read from files and rendered into prompts, and the judge of their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.core.lazy_imports import import_lazily
from fabula.skills.files import Skills, load_built_in, parse_skill, read_folder
from fabula.skills.model import AnswerAction, GenerationSettings, JudgeFinding, Skill, resolve_target
from fabula.skills.project_skills import load_folder_skills, load_project_skills, load_user_skills
from fabula.skills.source import SkillSource, choose_skill, find_skill

if TYPE_CHECKING:
    from fabula.skills.judge import JudgePolicy, JudgeVerdict, check_by_program, find_violations, format_complaint

__all__ = [
    "AnswerAction",
    "GenerationSettings",
    "JudgeFinding",
    "JudgePolicy",
    "JudgeVerdict",
    "Skill",
    "SkillSource",
    "Skills",
    "check_by_program",
    "choose_skill",
    "find_skill",
    "find_violations",
    "format_complaint",
    "load_built_in",
    "load_folder_skills",
    "load_project_skills",
    "load_user_skills",
    "parse_skill",
    "read_folder",
    "resolve_target",
]

__getattr__ = import_lazily(  # the patterns of the judge take time to compile
    __name__,
    dict.fromkeys(
        ("JudgePolicy", "JudgeVerdict", "check_by_program", "find_violations", "format_complaint"),
        "fabula.skills.judge",
    ),
)
