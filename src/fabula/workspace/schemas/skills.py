"""Schemas of skills."""

from __future__ import annotations

from msgspec import field

from fabula.core.view import Language
from fabula.skills.files import Skills
from fabula.skills.model import Skill
from fabula.workspace.schemas.schema import Schema


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
    generation = skill.generation
    return SkillInfo(
        id=skill.id,
        titles=dict(skill.titles),
        recipe=skill.recipe,
        works_on=skill.works_on,
        answer_action=skill.answer_action.value,
        perspective=None if skill.perspective is None else skill.perspective.value,
        templates=dict(skill.templates),
        generation=GenerationInfo(
            temperature=generation.temperature,
            top_p=generation.top_p,
            max_tokens=generation.max_tokens,
            stop=generation.stop,
        ),
        origin=skill.origin,
    )


def describe_skills(skills: Skills) -> SkillList:
    """Describe every skill and every problem."""
    problems = tuple(problem.sentence for problem in skills.problems)
    return SkillList(skills=tuple(map(describe_skill, skills.skills.values())), problems=problems)
