"""What a skill offers: its role and instruction, with the input, as the last thing said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from fabula.context.request import Ask
from fabula.context.trace import Verdict
from fabula.core.errors import Code, FabulaError
from fabula.core.fragments import Fragment, Layer, Part
from fabula.core.view import Language, View
from fabula.skills.model import SKILLS, Skill
from fabula.text.offsets import normalise


class SkillSource:
    """Session details if any, then role, instruction and input."""

    name = "skill"
    failing = Code.SOURCE_UNAVAILABLE
    waits = False
    ahead = True

    def __init__(self, skills: Mapping[str, Skill] = SKILLS) -> None:
        self._skills = skills

    def fragments(self, ask: Ask, view: View) -> Iterator[Fragment]:
        """The closing of the prompt."""
        request = ask.request
        project = request.project_id
        if request.session:
            said = "; ".join(f"{key}: {value}" for key, value in sorted(request.session.items()))
            yield _closing("session", _SESSION[ask.language].format(said=said), project)
        if request.skill_id:
            skill = self._skills.get(request.skill_id)
            if skill is None:
                raise FabulaError(
                    Code.SKILL_UNKNOWN,
                    f"There is no skill called {request.skill_id!r}. There are: {', '.join(self._skills)}.",
                )
            if skill.says[ask.language]:
                yield _role(skill.id, skill.says[ask.language], project)
        if request.additional_input.strip():
            yield _closing("input", normalise(request.additional_input), project)

    def absent(self, ask: Ask, view: View) -> Iterable[Verdict]:
        """A skill offers all it has."""
        return ()


_SESSION: dict[Language, str] = {
    "en": "[This session; it may not be relevant] {said}",
    "zh": "[本次会话，未必相关] {said}",
}


@lru_cache(maxsize=256)
def _role(skill_id: str, says: str, project_id: str) -> Fragment:
    """A skill's words never change, so they are made into a fragment once."""
    return _closing(f"skill:{skill_id}", says, project_id)


def _closing(source: str, text: str, project_id: str) -> Fragment:
    return Fragment(
        source=source, layer=Layer.IMMEDIATE, text=text, project_id=project_id, part=Part.CLOSING, score=1.0
    )
