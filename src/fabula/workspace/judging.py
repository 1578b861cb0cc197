"""Judge an answer: by program first, then by the model if the project's settings ask for it (con-4).

The model judges from the author's perspective, which knows everything. If the model cannot be reached or its verdict
cannot be parsed, the verdict says so in `problem`; the answer itself is never lost.
"""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from fabula.context.request import Request
from fabula.core.errors import FabulaError
from fabula.core.messages import message
from fabula.core.story import Perspective, Position
from fabula.core.view import View
from fabula.llm.local_model import load_tokenizer
from fabula.llm.model import ModelCall, Provider, Usage
from fabula.llm.retry import fetch_response
from fabula.manuscript.model import Manuscript
from fabula.skills.judge import (
    VERDICT_SCHEMA,
    JudgeVerdict,
    check_by_program,
    find_active_constraints,
    find_prompt_constraints,
    parse_verdict,
)
from fabula.skills.source import find_skill
from fabula.workspace.project import ProjectHandle
from fabula.workspace.writing_options import WritingOptions, reserve_schema

SKILL = "judge"


async def judge_answer(
    text: str,
    request: Request,
    view: View,
    position: Position | None,
    *,
    project: ProjectHandle,
    provider: Provider,
    options: WritingOptions,
) -> tuple[JudgeVerdict, Usage]:
    """Judge a text that was written for a position; return the verdict and the usage of the judging model."""
    language = request.reader_language or view.project.language
    manuscript = view.snapshot(Manuscript)
    story_texts = [document.text for document in manuscript.documents] if manuscript is not None else []
    by_program = tuple(await asyncio.to_thread(check_by_program, text, view, position, story_texts))
    if not options.judge.with_model:
        return JudgeVerdict(findings=by_program), Usage()
    request = replace(
        request,
        skill_id=SKILL,
        additional_input=text,
        perspective=Perspective.AUTHOR,
        conversation_id="",
        attachments=(),
    )
    request = reserve_schema(request, VERDICT_SCHEMA, view.project.language)
    try:
        result = await asyncio.to_thread(project.assemble, request)
        generation = find_skill(view, SKILL).generation
        call = ModelCall(
            model=request.model,
            messages=tuple(result.messages),
            max_tokens=max(min(generation.max_tokens, result.model.window - result.token_count), 1),
            temperature=generation.temperature,
            schema=VERDICT_SCHEMA,
            input_tokens=result.token_count,
            language=view.project.language,
        )
        tokenizer = load_tokenizer(result.model)
        response = await fetch_response(provider, call, retry_policy=options.retry_policy, tokenizer=tokenizer)
    except FabulaError as error:
        problem = describe_error(error, language)
        return JudgeVerdict(findings=by_program, model_consulted=True, problem=problem), Usage()
    in_prompt, active = find_prompt_constraints(result, view), find_active_constraints(view, position)
    verdict = parse_verdict(response.text, text, in_prompt, language, active)
    return replace(verdict, findings=(*by_program, *verdict.findings)), response.usage


def describe_error(error: FabulaError, language: str) -> str:
    """Return an error as one line of text: its code, and its sentence in a language."""
    return message("{code}: {sentence}", code=error.code.value, sentence=error.message).render(language)
