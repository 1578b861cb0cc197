"""Routes of prompts: assemble, inspect, explain and search, and the answer that follows from one (ctx-2, ctx-9)."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from fabula.access.model import Right
from fabula.context.request import Request
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.search.find import FoundPassage
from fabula.server.named_projects import open_project
from fabula.server.routes.route import NOTHING, Answer, Call, Route, make_record, mount
from fabula.workspace.grants import has_limits
from fabula.workspace.names import find_view_document
from fabula.workspace.schemas.context import (
    AssembledPrompt,
    AssembleRequest,
    ExplainRequest,
    Explanation,
    InspectedPrompt,
    describe_explanation,
    describe_inspection,
    describe_prompt,
    encode_prompt,
)
from fabula.workspace.schemas.search import SearchReport, describe_search

PROMPT = Answer(AssembledPrompt, describe_prompt, encode=encode_prompt)
INSPECTION = Answer(InspectedPrompt, describe_inspection)
EXAMPLE = {"documentId": "1", "cursorPosition": 40, "skillId": "continue"}


def read_context_request(call: Call) -> Request:
    """Return the request of a call; one that names another project than the path is refused."""
    wire: AssembleRequest = call.arguments["request"]
    own_id = call.handle.id
    if not _is_named(wire.project_id, call):
        raise FabulaError(
            Code.SCOPE_VIOLATION,
            message("`projectId` is not the project of this address. Nothing was changed."),
        )
    if type(wire) is AssembleRequest:
        return call.handle.read_request(wire if wire.project_id == own_id else replace(wire, project_id=own_id))
    plain = {name: getattr(wire, name) for name in AssembleRequest.__struct_fields__}  # a request that says more
    return call.handle.read_request(AssembleRequest(**{**plain, "project_id": own_id}))


def _is_named(name: str, call: Call) -> bool:
    """Whether a name means the project of a call, as it does at any address; most requests say its id, or nothing."""
    if name in ("", call.handle.id, call.handle.view.project.title):
        return True
    try:
        return open_project(call.workspace, call.access, name).id == call.handle.id
    except FabulaError:
        return False


def _explain(call: Call) -> Explanation:
    name: str = call.arguments["request"].name
    result = call.handle.inspect(read_context_request(call))
    return describe_explanation(name, call.handle.explain(result, name), call.language)


def _search(call: Call) -> SearchReport:
    remarks: list[str] = []
    words: str = call.arguments["words"]
    found: list[FoundPassage] = call.handle.search(**call.arguments, remarks=remarks)
    return describe_search(call.handle.view, words, found, remarks, call.language)


def assemble(call: Call) -> Any:
    """Assemble the prompt of a call's request."""
    return call.handle.assemble(read_context_request(call))


def name_queue(call: Call) -> str:
    """Name the document or conversation of a call's request, of which few prompts are assembled at once."""
    wire: AssembleRequest = call.arguments["request"]
    place = wire.conversation_id or wire.document_id
    if not wire.conversation_id and place and not has_limits(call.handle.principal):
        with suppress(FabulaError):  # a text that comes along may be of a new document
            place = find_view_document(call.handle.view, place)
    return f"{call.handle.id}\x1f{place}"


def inspect(call: Call) -> Any:
    """Inspect the prompt of a call's request."""
    return call.handle.inspect(read_context_request(call))


ROUTES = mount(
    "project",
    "/projects/{project}",
    (
        Route(
            "POST",
            "/assemble",
            "assemble",
            Right.ASSEMBLE,
            PROMPT,
            EXAMPLE,
            request=AssembleRequest,
            call=assemble,
            queue_key=name_queue,
        ),
        Route("POST", "/inspect", "inspect", Right.INSPECT, INSPECTION, EXAMPLE, request=AssembleRequest, call=inspect),
        Route(
            "POST",
            "/explain",
            "explain",
            Right.INSPECT,
            Answer(Explanation),
            {**EXAMPLE, "name": "Mara"},
            request=ExplainRequest,
            call=_explain,
        ),
        Route("POST", "/assemblies/{assembly}/answered", "report_answer", Right.ASSEMBLE, NOTHING),
        Route("GET", "/search", "search", Right.ASSEMBLE, Answer(SearchReport), {"words": "lamp"}, call=_search),
        Route(
            "GET",
            "/skills/{skill}/problems",
            "describe_skill_problems",
            Right.READ,
            make_record(
                "SkillProblems",
                problems=Answer(list[str], lambda found, language: [one.render(language) for one in found]),
            ),
        ),
    ),
)
