"""The skill source: offers the end of a prompt: session details (ctx-7), role and instruction, input (ctx-3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from fabula.codex import Codex
from fabula.context.gate import knows_document
from fabula.context.recipes import CHARACTER_CHAT, CHAT
from fabula.context.request import Request, SourceRequest, has_limits
from fabula.context.trace import Verdict
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Fragment, Layer, Part
from fabula.core.messages import join_names, message
from fabula.core.view import View
from fabula.manuscript.model import Document, Manuscript
from fabula.skills.files import Skills, load_built_in
from fabula.skills.model import Skill
from fabula.skills.template import find_variables, has_placeholders, render_template
from fabula.text.offsets import normalise

CHAT_RECIPES = frozenset({CHAT.name, CHARACTER_CHAT.name})


class SkillSource:
    """Offers session details if any, the rendered template of the skill, and the input."""

    name = "skill"
    unavailable_code = Code.SOURCE_UNAVAILABLE
    blocking = False
    runs_first = True
    renders_input = True

    def fragments(self, source_request: SourceRequest, view: View) -> Iterator[Fragment]:
        """The fragments that close the prompt."""
        request, language = source_request.request, source_request.language
        project = request.project_id
        if request.session:
            named = (message("{name}: {text}", name=key, text=value) for key, value in sorted(request.session.items()))
            details = message("; ").render(language).join(one.render(language) for one in named)
            text = message("[This session; it may not be relevant] {details}", details=details).render(language)
            yield _make_fragment("session", text, project)
        includes_input = False
        if request.skill_id:
            skill = find_skill(view, request.skill_id)
            text = skill.templates[language]
            if has_placeholders(text):
                includes_input = "instruction" in find_variables(text)
                text = render_template(text, _template_values(source_request, view))
            if text:
                yield _make_skill_fragment(skill.id, text, project)
        if request.additional_input.strip() and not includes_input:
            text = normalise(request.additional_input)
            if request.input_name:
                text = message("{name}: {text}", name=request.input_name, text=text).render(language)
            yield _make_fragment("input", text, project)

    def explain_omitted(self, source_request: SourceRequest, view: View) -> Iterable[Verdict]:
        """Nothing: a skill offers all it has."""
        return ()


def read_document(request: Request, view: View) -> tuple[Document | None, str]:
    """The document of a request, if there is one, and its text, which may be unsaved."""
    manuscript = view.snapshot(Manuscript)
    document = manuscript.by_id.get(request.document_id) if manuscript is not None else None
    if request.unsaved_text is not None:
        return document, normalise(request.unsaved_text)
    return document, document.text if document is not None else ""


def choose_skill(recipe: str, speaker_id: str) -> str:
    """Return the skill of a request that names none: talking where somebody speaks, else going on with the text."""
    return "chat" if recipe in CHAT_RECIPES or (speaker_id and not recipe) else "continue"


def find_skill(view: View, skill_id: str) -> Skill:
    """Find a skill of the project, else a built-in one; the error for an invalid one names its line."""
    available = view.snapshot(Skills) or load_built_in()
    skill = available.skills.get(skill_id)
    if skill is None:
        for problem in available.problems_of(skill_id):
            raise FabulaError(problem.code, problem.message)
        names = join_names(sorted(available.skills))
        sentence = message("There is no skill called {name!r}. There are: {names}.", name=skill_id, names=names)
        raise FabulaError(Code.SKILL_UNKNOWN, sentence)
    return skill


def _template_values(source_request: SourceRequest, view: View) -> dict[str, Any]:
    """The values of the variables of a template (`template.VARIABLES`)."""
    request = source_request.request
    document, text = read_document(request, view)
    start, end = sorted(request.selection or (0, 0))
    if request.speaker_id and not knows_document(request.document_id, source_request.vantage, view.timeline):
        document, text = None, ""  # a speaker is told nothing of a document that it does not know
    beats = document.beats if document is not None and not has_limits(request.principal) else ()
    return {
        "instruction": normalise(request.additional_input).strip(),
        "selection": text[start:end],
        "beat": beats[0] if beats else "",
        "beats": beats,
        "title": document.title if document is not None else "",
        "chapter": (document and view.timeline.chapter_number(document.id)) or "",
        "pov": _name_viewpoint(document, view),
        "project": view.project.title,
        "language": source_request.language,
        "reader_language": request.reader_language or source_request.language,
    }


def _name_viewpoint(document: Document | None, view: View) -> str:
    """The name of the character through whose eyes a document is told, or nothing."""
    ident, codex = document.pov if document is not None else None, view.snapshot(Codex)
    return codex.name_of(ident) if codex is not None and ident else ident or ""


@lru_cache(maxsize=256)
def _make_skill_fragment(skill_id: str, text: str, project_id: str) -> Fragment:
    """The fragment of a rendered template; cached, because most requests render the same text."""
    return _make_fragment(f"skill:{skill_id}", text, project_id)


def _make_fragment(source: str, text: str, project_id: str) -> Fragment:
    return Fragment(
        source=source, layer=Layer.IMMEDIATE, text=text, project_id=project_id, part=Part.INSTRUCTION, score=1.0
    )
