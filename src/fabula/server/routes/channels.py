"""Channels, which name the project in their body, and chat requests (ctx-2, bud-7, con-1, cht-1).

The names and the JSON of the channels are those that an editor of the seeds sends to its engine.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from fabula.access.model import Right
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.manuscript import projects
from fabula.server.access import Access, refuse_project
from fabula.server.routes.constraints import CONSTRAINT
from fabula.server.routes.context import EXAMPLE, INSPECTION, PROMPT, assemble, inspect, name_queue
from fabula.server.routes.route import PROJECT_FIELD, Answer, Call, Route, make_record
from fabula.server.routes.settings import BUDGET
from fabula.workspace.chat.requests import check_project_name
from fabula.workspace.schemas.chat import ChatAnswer, ChatRequest
from fabula.workspace.schemas.constraints import ConstraintInfo
from fabula.workspace.schemas.context import AssembleRequest
from fabula.workspace.workspace import Workspace

_PROJECT = {"projectId": "The Lantern Coast"}
CHAT_EXAMPLE = {"message": "Is the lamp lit?", "thread_slug": "the-lantern-coast"}


def _find_project(sent: Struct, access: Access, workspace: Workspace) -> str:
    name: str = getattr(sent, PROJECT_FIELD)
    if not name:
        raise FabulaError(
            Code.REQUEST_INVALID, message("Name the project of this channel: `projectId`. Nothing was changed.")
        )
    return name


def find_chat_project(sent: Struct, access: Access, workspace: Workspace) -> str:
    """Return the project of a chat request; by a slug, only one that the caller belongs to."""
    assert isinstance(sent, ChatRequest)
    check_project_name(sent)
    if not sent.thread_slug:
        return sent.project_id or ""
    found = projects.find_by_slug(workspace.store, sent.thread_slug)
    if found is None or access.find_membership(found) is None or sent.project_id not in (None, "", found):
        raise refuse_project()
    return found


def read_chat_request(call: Call) -> ChatRequest:
    """Return a chat request for the project that was found for its caller."""
    sent: ChatRequest = call.arguments["request"]
    return replace(sent, project_id=call.handle.id, thread_slug=None)


async def _answer_chat(call: Call) -> ChatAnswer:
    try:
        return await call.workspace.answer_chat(
            read_chat_request(call), principal=call.handle.principal, model=call.model, language=call.language
        )
    except FabulaError as error:
        raise hide_thread(error, call) from None


def hide_thread(error: FabulaError, call: Call) -> FabulaError:
    """Return the refusal of a chat request; a thread of a project that the caller does not know is not there."""
    if error.code is not Code.CHAT_THREAD_ELSEWHERE or call.access.everywhere is not None:
        return error
    thread = call.arguments["request"].thread_id
    return FabulaError(
        Code.STORE_NOT_FOUND, message("There is no thread {thread!r}. Nothing was changed.", thread=thread)
    )


def _chat(call: Call) -> Coroutine[Any, Any, ChatAnswer]:
    return _answer_chat(call)


def _describe_all(found: list[Any], call: Call) -> list[ConstraintInfo]:
    return [CONSTRAINT.make(one, call) for one in found]


_CONSTRAINTS = make_record("ConstraintList", constraints=Answer(list[ConstraintInfo], _describe_all))


def _make_channel(
    name: str,
    verb: str,
    right: Right,
    answer: Answer,
    example: dict[str, Any] | None = None,
    **others: Any,
) -> Route:
    given = {**_PROJECT, **(example or {})}
    return Route("POST", f"/channels/{name}", verb, right, answer, given, find_project=_find_project, **others)


ROUTES = (
    _make_channel(
        "context:assemble",
        "project.assemble",
        Right.ASSEMBLE,
        PROMPT,
        EXAMPLE,
        request=AssembleRequest,
        call=assemble,
        queue_key=name_queue,
    ),
    _make_channel(
        "context:inspect",
        "project.inspect",
        Right.INSPECT,
        INSPECTION,
        EXAMPLE,
        request=AssembleRequest,
        call=inspect,
    ),
    _make_channel("context:budget:get", "settings.read_budget", Right.READ, BUDGET),
    _make_channel(
        "context:budget:update",
        "settings.update_budget",
        Right.MANAGE,
        BUDGET,
        {"profile": {"rules": {"ratio": 0.1, "minimum": 500}}, "expectedVersion": 0},
    ),
    _make_channel("constraints:list", "constraints.list_constraints", Right.READ, _CONSTRAINTS),
    _make_channel(
        "constraints:create",
        "constraints.add",
        Right.EDIT,
        CONSTRAINT,
        {"text": "Nobody sings on the quay."},
        creates=True,
    ),
    _make_channel(
        "constraints:update", "constraints.edit", Right.EDIT, CONSTRAINT, {"constraintId": "1", "priority": 7}
    ),
    _make_channel("constraints:delete", "constraints.remove", Right.EDIT, CONSTRAINT, {"constraintId": "1"}),
    Route(
        "POST",
        "/chat",
        "workspace.answer_chat",
        Right.PLAY,
        Answer(ChatAnswer),
        CHAT_EXAMPLE,
        request=ChatRequest,
        call=_chat,
        find_project=find_chat_project,
    ),
)
