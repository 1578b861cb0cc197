"""Schemas of skills."""

from __future__ import annotations

from msgspec import field

from fabula.core.messages import ENGLISH
from fabula.core.view import Language
from fabula.skills.files import Skills
from fabula.skills.model import Skill
from fabula.workspace.schemas.schema import Schema, describe


class GenerationInfo(Schema):
    """The settings for the model that a skill brings along."""

    temperature: float | None
    top_p: float | None
    max_tokens: int
    stop: tuple[str, ...]


class SkillInfo(Schema):
    """A skill; titles and templates by language."""

    id: str
    titles: dict[Language, str] = field(name="title")
    recipe: str
    works_on: tuple[str, ...]
    answer_action: str = field(name="answer")
    perspective: str | None = field(name="eyes")
    templates: dict[Language, str] = field(name="template")
    generation: GenerationInfo = field(name="model")
    origin: str


class SkillList(Schema):
    """Every skill, and what is wrong with files that are left out."""

    skills: tuple[SkillInfo, ...]
    problems: tuple[str, ...]


def describe_skill(skill: Skill) -> SkillInfo:
    """Describe a skill."""
    return describe(SkillInfo, skill)


def describe_skills(skills: Skills, language: str = ENGLISH) -> SkillList:
    """Describe every skill and every problem."""
    problems = [problem.message for problem in skills.problems]
    return describe(
        SkillList,
        skills,
        language,
        skills=[describe_skill(skill) for skill in skills.skills.values()],
        problems=problems,
    )
