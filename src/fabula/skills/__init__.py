"""Skills: tasks for the model, read from files and rendered into prompts, and the judge of their answers."""

from fabula.skills.files import Skills, load_built_in, parse_skill
from fabula.skills.model import AnswerAction, GenerationSettings, JudgeFinding, Skill, resolve_target
from fabula.skills.source import SkillSource, find_skill

__all__ = [
    "AnswerAction",
    "GenerationSettings",
    "JudgeFinding",
    "Skill",
    "SkillSource",
    "Skills",
    "find_skill",
    "load_built_in",
    "parse_skill",
    "resolve_target",
]
