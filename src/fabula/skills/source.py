"""What a skill offers: its role and instruction, with the input, as the last thing said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from fabula.context.request import Ask
from fabula.context.trace import Verdict
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Fragment, Layer, Part
from fabula.core.view import Language, View
from fabula.manuscript.model import Manuscript
from fabula.skills.files import Skills, built_in
from fabula.skills.model import Skill
from fabula.skills.template import fills_in, render, uses
from fabula.text.offsets import normalise


class SkillSource:
    """Session details if any, then role, instruction and input."""

    name = "skill"
    failing = Code.SOURCE_UNAVAILABLE
    waits = False
    ahead = True

    def fragments(self, ask: Ask, view: View) -> Iterator[Fragment]:
        """The closing of the prompt."""
        request = ask.request
        project = request.project_id
        if request.session:
            said = "; ".join(f"{key}: {value}" for key, value in sorted(request.session.items()))
            yield _closing("session", _SESSION[ask.language].format(said=said), project)
        told = False  # has the template said what the writer asked for?
        if request.skill_id:
            skill = skill_of(view, request.skill_id)
            says = skill.says[ask.language]
            if fills_in(says):
                told = "instruction" in uses(says)
                says = render(says, _values(ask, view))
            if says:
                yield _role(skill.id, says, project)
        if request.additional_input.strip() and not told:
            yield _closing("input", normalise(request.additional_input), project)

    def absent(self, ask: Ask, view: View) -> Iterable[Verdict]:
        """A skill offers all it has."""
        return ()


def skill_of(view: View, skill_id: str) -> Skill:
    """The skill of that id: the project's own, else a built-in one. One that was left out is refused with its line."""
    shelf = view.room(Skills) or built_in()
    skills = shelf.skills
    skill = skills.get(skill_id)
    if skill is None:
        for problem in shelf.about(skill_id):
            raise FabulaError(Code.SKILL_INVALID, problem)
        raise FabulaError(
            Code.SKILL_UNKNOWN, f"There is no skill called {skill_id!r}. There are: {', '.join(sorted(skills))}."
        )
    return skill


_SESSION: dict[Language, str] = {
    "en": "[This session; it may not be relevant] {said}",
    "zh": "[本次会话，未必相关] {said}",
}


def _values(ask: Ask, view: View) -> dict[str, Any]:
    """What a template may ask for (`template.VARIABLES`)."""
    request, story = ask.request, view.room(Manuscript)
    document = story.by_id.get(request.document_id) if story is not None else None
    text = document.text if document is not None else ""
    if request.unsaved_text is not None:
        text = normalise(request.unsaved_text)
    start, end = sorted(request.selection or (0, 0))
    beats = document.beats if document is not None else ()
    return {
        "instruction": normalise(request.additional_input).strip(),
        "selection": text[start:end],
        "beat": beats[0] if beats else "",
        "beats": beats,
        "title": document.title if document is not None else "",
        "chapter": view.timeline.chapter(request.document_id) or "",
        "pov": (document.pov or "") if document is not None else "",
        "project": view.project.title,
        "language": ask.language,
    }


@lru_cache(maxsize=256)
def _role(skill_id: str, says: str, project_id: str) -> Fragment:
    """The same words come again and again, so they are made into a fragment once."""
    return _closing(f"skill:{skill_id}", says, project_id)


def _closing(source: str, text: str, project_id: str) -> Fragment:
    return Fragment(
        source=source, layer=Layer.IMMEDIATE, text=text, project_id=project_id, part=Part.CLOSING, score=1.0
    )
