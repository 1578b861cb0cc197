"""Schemas of a chat request and its answer, with the names that the specification gives them (cht-1)."""

from __future__ import annotations

from msgspec import UNSET, UnsetType, field

from fabula.conversation.model import Message
from fabula.core.errors import Code, FabulaError
from fabula.llm.model import Usage
from fabula.workspace.chat.events import SpeakerEvent
from fabula.workspace.schemas.conversations import MessageInfo
from fabula.workspace.schemas.runs import UsageInfo
from fabula.workspace.schemas.schema import Schema, describe

STATUSES = {  # of HTTP, by the code of a refusal
    Code.TEXT_INVALID: 400,
    Code.PROJECT_NOT_FOUND: 404,
    Code.STORE_NOT_FOUND: 404,
    Code.CHAT_THREAD_ELSEWHERE: 409,
    Code.MODE_CHANGED: 409,
    Code.CHAT_NOBODY_PRESENT: 422,
    Code.CHAT_PROJECT_MISSING: 422,
    Code.MODE_ROLES_INVALID: 422,
    Code.MODE_UNKNOWN: 422,
}


class ChatRequest(Schema, rename="lower"):
    """A message for a thread of a project; without a thread one is started.

    `role_config` has participants by role; `thread_slug` or `project_id` names the project.
    """

    message: str
    thread_id: str | None = None
    mode: str = ""
    role_config: dict[str, str] = field(default_factory=dict)
    thread_slug: str | None = None
    project_id: str | None = None


class ChatProblem(Schema, rename="lower"):
    """Why a participant did not answer."""

    code: str
    message: str


class ChatResponse(Schema, rename="lower"):
    """The reply of one participant, or why there is none; `message_id` is empty where nothing was stored."""

    message_id: str
    participant_id: str
    display_name: str
    content: str
    usage: UsageInfo
    error: ChatProblem | UnsetType = UNSET


class ChatAnswer(Schema, rename="lower"):
    """What was said, and who replied what."""

    thread_id: str
    user_message: MessageInfo
    responses: tuple[ChatResponse, ...]


def describe_response(
    event: SpeakerEvent,
    stored: Message | None = None,
    content: str = "",
    usage: Usage | None = None,
    error: FabulaError | None = None,
) -> ChatResponse:
    """Describe the reply of a participant, or why there is none."""
    problem: ChatProblem | UnsetType = UNSET
    if error is not None:
        problem = ChatProblem(code=error.code.value, message=error.sentence)
    return ChatResponse(
        message_id=stored.id if stored is not None else "",
        participant_id=event.participant_id,
        display_name=event.name,
        content=content,
        usage=describe(UsageInfo, usage or Usage()),
        error=problem,
    )
