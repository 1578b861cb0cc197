"""Types of skills (a task with template, generation settings, target and answer action) and findings on answers.

A skill is a small file: the recipe of the prompt, a template for the end of it, settings for the model, what it works
on, and what happens with the answer. Built-in skills are files like those of users. `resolve_target` adjusts a request
to what its skill works on.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from fabula.context.request import Request
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import advise, message
from fabula.core.story import Perspective
from fabula.core.view import Language

MAX_ANSWER_TOKENS = 32_000

SkillTarget = Literal["cursor", "selection", "document"]
SkillOrigin = Literal["built in", "folder", "project"]


class AnswerAction(StrEnum):
    """What happens with an accepted answer."""

    INSERT = "insert"  # at the cursor
    REPLACE = "replace"  # in place of the selection
    SHOW = "show"  # it is only read
    SYNOPSIS = "synopsis"  # the document's synopsis
    ENTRIES = "entries"  # proposals for the codex

    @property
    def is_prose(self) -> bool:
        """Whether the answer is text of the story, which the judge checks and memory learns from."""
        return self in (AnswerAction.INSERT, AnswerAction.REPLACE)


class GenerationSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sampling parameters and length of the answer."""

    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    max_tokens: Annotated[int, Meta(ge=1, le=MAX_ANSWER_TOKENS)] = 1024
    stop: Annotated[tuple[str, ...], Meta(max_length=4)] = ()


class Skill(Struct, frozen=True, kw_only=True):
    """A task for the model. `perspective` overrides whose knowledge the prompt may contain."""

    id: str
    templates: Mapping[Language, str]
    titles: Mapping[Language, str] = {}
    recipe: str = "novel"
    works_on: tuple[SkillTarget, ...] = ("cursor",)
    answer_action: AnswerAction = AnswerAction.SHOW
    perspective: Perspective | None = None
    generation: GenerationSettings = GenerationSettings()
    origin: SkillOrigin = "built in"

    def title_in(self, language: Language) -> str:
        """The title in a language, else in English, else the id."""
        return self.titles.get(language) or self.titles.get("en") or self.id


class JudgeFinding(Struct, frozen=True, kw_only=True):
    """A violation or hint: the broken rule, the words, their range in the text, the reason, and who found it.

    `rule_id` is the id of a constraint, or `continuity`. A quotation that does not occur in the text has no range.
    """

    rule_id: str = field(name="breaks")
    quote: str = field(name="words")
    reason: str
    checked_by: Literal["program", "model"] = field(name="by")
    start: int | None = None
    end: int | None = None
    is_hint: bool = field(default=False, name="hint")  # shown to the writer, but no reason to regenerate


def resolve_target(request: Request, skill: Skill) -> Request:
    """Set selection and cursor to what the skill works on; refuses a skill that needs a selection without one.

    The cursor is at the end of the selection unless the request says otherwise, because later text of the document is
    not known there yet. A whole document is seen from its end.
    """
    if request.selection is not None:
        start, end = sorted(request.selection)
        cursor = end if request.cursor is None else request.cursor
        request = replace(request, selection=(start, end), cursor=cursor)
        if start < end:
            return request
    if "cursor" in skill.works_on:
        return request
    if "document" in skill.works_on:
        return replace(request, cursor=None)
    raise FabulaError(
        Code.REQUEST_INVALID,
        message(
            "The skill {skill!r} works on selected text. {advice} Nothing was sent.",
            skill=skill.id,
            advice=advise(message("Select some (--selection START:END)."), message("Select some (`selection`).")),
        ),
        skill=skill.id,
    )
