"""Prompts of the MCP server: each skill with its arguments, assembled at a place in the story.

A prompt has two messages: the material as a quotation, and the instruction of the skill. Words of the story that the
instruction repeats are quoted there too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from msgspec import Struct
from msgspec.structs import replace

from fabula.access.model import Right
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, join_names, message
from fabula.core.view import Language
from fabula.mcp.access import McpAccess
from fabula.mcp.quotation import quote_story
from fabula.mcp.tools import StoryTools
from fabula.skills.model import AnswerAction, Skill, resolve_target
from fabula.workspace.cursor import find_words
from fabula.workspace.request_names import RequestFields
from fabula.workspace.skills import list_user_skills
from fabula.workspace.workspace import Workspace

# which need more than a place in the story
_INTERNAL = frozenset({"chat", "digest", "facts", "habits", "judge", "needs", "recap"})
_VERB = "project.assemble"  # as which a prompt counts for a key that names verbs
_ARGUMENTS: dict[str, Sentence] = {
    "project": message("The project: its title, number or id."),
    "chapter": message("A chapter: its title, number or id. By default the last one."),
    "place": message("A place in the chapter: an offset, after 'words', or before 'words'. By default its end."),
    "selection": message("Words of the chapter to work on; they stand there once."),
    "instruction": message("What you say in addition."),
    "character": message("Through whose eyes, by any name."),
    "window": message("How many tokens the context may have, with the answer."),
}


class PromptParameter(Struct, frozen=True):
    """An argument of a prompt: its name, what it means, and whether it must be given."""

    name: str
    description: Sentence
    is_required: bool


class AssembledSkill(Struct, frozen=True):
    """A skill at a place in the story: the material as a quotation, and the instruction."""

    title: str
    material: str
    instruction: str


def list_skills(workspace: Workspace, access: McpAccess, project: str | None = None) -> list[Skill]:
    """List the skills that a client may use, with those of a project that it names, or of the only one.

    A client with limits there has the built-in ones.
    """
    name = project or access.find_only_project(workspace)
    if name is not None:
        access = access.choose_project(workspace, name)
        if not access.may_use(Right.ASSEMBLE, _VERB):
            return []
    if access.has_limits or name is None:
        found = list_user_skills().skills.values()
    else:
        own = access.open_project(workspace, name if access.project_id is None else None)
        found = own.skills.list_skills().skills.values()
    return sorted(
        (
            one
            for one in found
            if one.id not in _INTERNAL
            and one.answer_action is not AnswerAction.ENTRIES
            and (one.origin == "built in" or not access.has_limits)
        ),
        key=lambda one: one.id,
    )


def list_parameters(skill: Skill, access: McpAccess, only_project: str | None) -> list[PromptParameter]:
    """List the arguments of a skill that a client may use; the only project of a client need not be named."""
    required = {"selection"} if skill.works_on == ("selection",) else set()
    hidden = {"character"} if access.has_limits else set()
    if only_project is None:
        required.add("project")
    elif access.project_id is not None:
        hidden.add("project")
    if "selection" not in skill.works_on:
        hidden.add("selection")
    return [PromptParameter(name, words, name in required) for name, words in _ARGUMENTS.items() if name not in hidden]


def assemble_skill(
    workspace: Workspace, access: McpAccess, name: str, arguments: Mapping[str, str], language: str
) -> AssembledSkill:
    """Assemble the prompt of a skill at the place that the arguments name."""
    only_project = access.find_only_project(workspace)
    named = None if access.project_id is not None else arguments.get("project") or None
    skills = {one.id: one for one in list_skills(workspace, access, named)}
    if name not in skills:
        known = get_close_matches(name, skills) or sorted(skills)
        names = join_names(known)
        raise FabulaError(
            Code.SKILL_UNKNOWN,
            message("There is no skill called {name!r}. There are: {names}.", name=name[:100], names=names),
        )
    skill = skills[name]
    values = _read_arguments(list_parameters(skill, access, only_project), skill, arguments)
    tools = StoryTools(workspace, access, values.get("project"), language=language)
    fields: RequestFields = {"skill_id": skill.id, "additional_input": values.get("instruction", "")}
    if "character" in values:
        fields["character"] = values["character"]
    if "window" in values:
        fields["window"] = _read_number(values["window"])
    request = tools.make_request(values.get("chapter"), values.get("place", ""), **fields)
    project = access.open_project(workspace, values.get("project"))
    selected = ""
    if "selection" in values:
        text = project.reading.read_chapter(request.document_id).text
        start, end = find_words(values["selection"], text)
        selected, request = text[start:end], replace(request, selection=(start, end))
    result = project.assemble(resolve_target(request, skill))
    told = [one.text for one in result.trace if one.included and one.source in (f"skill:{skill.id}", "input")]
    instruction = "\n\n".join(told)
    if selected:
        instruction = instruction.replace(selected, quote_story(selected))
    own: Language = "zh" if language == "zh" else "en"
    return AssembledSkill(skill.title_in(own), quote_story(result.prompt), instruction or skill.title_in(own))


def _read_arguments(parameters: Sequence[PromptParameter], skill: Skill, sent: Mapping[str, str]) -> dict[str, str]:
    """Return what a client sent; an unknown name is refused with the nearest one, and a missing one by its name."""
    known = {one.name: one for one in parameters}
    for name in sent:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            reason = (
                message("there is no {name!r}; the nearest is {near!r}", name=name[:100], near=near[0])
                if near
                else message("there is no {name!r}; there are {known}", name=name[:100], known=join_names([*known]))
            )
            raise _refuse(skill, reason)
    for name, one in known.items():
        if one.is_required and not sent.get(name):
            raise _refuse(skill, message("`{name}` is missing", name=name))
    return {name: value for name, value in sent.items() if value}


def _read_number(value: str) -> int:
    if not value.isascii() or not value.isdecimal() or len(value) > 9:
        raise FabulaError(
            Code.REQUEST_INVALID,
            message(
                "{reason}. Nothing was changed.",
                reason=message("{field} must be {expected}", field="`window`", expected=message("a whole number")),
            ),
        )
    return int(value)


def _refuse(skill: Skill, reason: Sentence) -> FabulaError:
    return FabulaError(
        Code.REQUEST_INVALID,
        message("`{verb}` cannot do that: {reason}. Nothing was changed.", verb=skill.id, reason=reason),
    )
