"""Judging an answer: a program first, then the model where the project wants it, from the author's side.

The judge being away, or answering rubbish, is said; it never stands in the way of the text.
"""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from fabula.context.request import Request
from fabula.core.errors import FabulaError
from fabula.core.story import Eyes, Position
from fabula.core.view import View
from fabula.llm.model import Call, Provider, Usage
from fabula.llm.response import whole
from fabula.manuscript.model import Manuscript
from fabula.skills.judge import SCHEMA, Verdict, active, by_program, numbered, read_verdict
from fabula.skills.source import skill_of
from fabula.workspace.project import Fabula
from fabula.workspace.writing_options import Terms

SKILL = "judge"


async def judged(
    text: str, request: Request, view: View, here: Position | None, *, house: Fabula, provider: Provider, terms: Terms
) -> tuple[Verdict, Usage]:
    """The verdict on a text that was written for this place, and what asking the model for it used."""
    story = view.room(Manuscript)
    known = "\n".join(document.text for document in story.documents) if story is not None else ""
    found = await asyncio.to_thread(by_program, text, view, here, known)
    if not terms.judging.with_model:
        return Verdict(findings=tuple(found)), Usage()
    told, usage = await _asked(text, request, view, here, house, provider, terms)
    return Verdict(findings=(*found, *told.findings), asked=True, problem=told.problem), usage


async def _asked(
    text: str, request: Request, view: View, here: Position | None, house: Fabula, provider: Provider, terms: Terms
) -> tuple[Verdict, Usage]:
    request = replace(
        request, skill_id=SKILL, additional_input=text, eyes=Eyes.AUTHOR, conversation_id="", attachments=()
    )
    try:
        result = house.assemble(request)
        wishes = skill_of(view, SKILL).wishes
        call = Call(
            model=request.model,
            messages=tuple(result.messages),
            max_tokens=wishes.max_tokens,
            temperature=wishes.temperature,
            schema=SCHEMA,
            input_tokens=result.token_count,
        )
        said = await whole(provider, call, patience=terms.patience, tokenizer=result.model.tokenizer())
    except FabulaError as error:
        return Verdict(asked=True, problem=str(error)), Usage()
    verdict = read_verdict(said.text, text, numbered(result, view), view.project.language, active(view, here))
    return verdict, said.usage
