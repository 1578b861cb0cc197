"""Routes whose answer is a stream of events: writing and talking; and the state of a conversation that is talked in."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from fabula.access.model import Right
from fabula.core.errors import FabulaError
from fabula.server.routes.channels import CHAT_EXAMPLE, find_chat_project, hide_thread, read_chat_request
from fabula.server.routes.context import EXAMPLE, read_context_request
from fabula.server.routes.conversations import PAGE, REMOVED_MESSAGES, find_names
from fabula.server.routes.lorebooks import SENTENCES
from fabula.server.routes.route import Answer, Call, Route, make_list, make_record, mount
from fabula.workspace.chat.events import ChatEvent
from fabula.workspace.grants import has_limits, refuse_request
from fabula.workspace.schemas.chat import (
    AnnouncementEvent,
    ChatEventInfo,
    ChatRequest,
    ChatStateInfo,
    DeltaEvent,
    EndEvent,
    FailureEvent,
    PlayedChatInfo,
    PromptEvent,
    ReplyEvent,
    RetryEvent,
    StartEvent,
    StoredMessageEvent,
    describe_chat_state,
    describe_event,
    describe_played_chat,
)
from fabula.workspace.schemas.context import AssembleRequest, InspectedPrompt, describe_inspection
from fabula.workspace.schemas.writing import (
    WriteRequest,
    WritingCompleted,
    WritingDelta,
    WritingFailed,
    WritingJudged,
    WritingRetry,
    describe_writing,
)
from fabula.workspace.writing import WritingEvent

ChatEvents = (
    StoredMessageEvent
    | AnnouncementEvent
    | StartEvent
    | DeltaEvent
    | RetryEvent
    | ReplyEvent
    | FailureEvent
    | PromptEvent
    | EndEvent
)
WritingEvents = WritingDelta | WritingJudged | WritingRetry | WritingCompleted | WritingFailed


def _describe_event(event: ChatEvent, call: Call) -> ChatEventInfo:
    return describe_event(event, find_names(call), call.language)


def _write(call: Call) -> AsyncGenerator[WritingEvent, None]:
    wire: WriteRequest = call.arguments["request"]
    project = call.handle
    request = read_context_request(call)
    named = wire.model if wire.model != AssembleRequest(project_id="").model else None
    choice = project.choose_model(provider=wire.provider, model=named, judge=wire.judge)
    if wire.again:
        request = project.runs.request_again(wire.again, request)
    return project.write(request, choice, variants=wire.variants)


def _send(call: Call) -> AsyncGenerator[ChatEvent, None]:
    """Say something; who has limits says it as its own character, and chooses neither mode nor place."""
    project, (conversation,) = call.handle, call.path
    if not has_limits(project.principal):
        return project.chat.send(conversation, **call.arguments, model=call.model)
    given = dict(call.arguments)
    if given.pop("mode", "") or given.pop("roles", None) or given.pop("document_id", None) is not None:
        raise refuse_request()
    return project.playing.send(conversation, **given, model=call.model)


async def _talk(call: Call) -> AsyncGenerator[ChatEvent, None]:
    talking = call.workspace.chat(read_chat_request(call), principal=call.handle.principal, model=call.model)
    try:
        async with aclosing(talking) as events:
            async for event in events:
                yield event
    except FabulaError as error:
        raise hide_thread(error, call) from None


_STATE = Answer(ChatStateInfo, describe_chat_state)
_EVENTS = Answer(ChatEvents, _describe_event)

ROUTES = (
    mount(
        "project",
        "/projects/{project}",
        (
            Route(
                "POST",
                "/write",
                "write",
                Right.GENERATE,
                Answer(WritingEvents, describe_writing),
                {**EXAMPLE, "variants": 1},
                request=WriteRequest,
                call=_write,
                stream=True,
            ),
        ),
    )
    + mount(
        "chat",
        "/projects/{project}/chats",
        (
            Route("POST", "", "start", Right.PLAY, _STATE, {"participants": ["Bo"], "title": "At night"}, creates=True),
            Route("GET", "/{conversation}", "get", Right.READ, _STATE),
            Route(
                "POST",
                "/{conversation}/take-back",
                "take_back",
                Right.EDIT,
                make_record("MessagesTakenBack", messages=REMOVED_MESSAGES),
            ),
            Route("PUT", "/{conversation}/mode", "set_mode", Right.EDIT, _STATE, {"mode": "group"}),
            Route(
                "GET",
                "/{conversation}/mode",
                "explain_mode",
                Right.READ,
                make_record("ModeExplanation", lines=SENTENCES),
                {"reader": "Bo"},
            ),
            Route(
                "GET",
                "/{conversation}/prompt",
                "inspect",
                Right.INSPECT,
                Answer(InspectedPrompt, lambda prompt, language: describe_inspection(prompt.result, language)),
                {"participant": "Bo"},
            ),
            Route(
                "POST",
                "/{conversation}/send",
                "send",
                Right.PLAY,
                _EVENTS,
                {"text": "Good evening."},
                call=_send,
                stream=True,
            ),
            Route("POST", "/{conversation}/ask", "ask", Right.PLAY, _EVENTS, {"participants": ["Bo"]}, stream=True),
            Route("POST", "/{conversation}/continue", "continue_reply", Right.PLAY, _EVENTS, stream=True),
            Route("POST", "/{conversation}/regenerate", "regenerate", Right.PLAY, _EVENTS, stream=True),
            Route(
                "POST",
                "/{conversation}/paste",
                "paste",
                Right.PLAY,
                _EVENTS,
                {"text": "It is lit.", "participant": "Bo"},
                stream=True,
            ),
        ),
    )
    + mount(
        "playing",
        "/projects/{project}/chats",
        (
            Route("GET", "", "list_chats", Right.PLAY, make_list(Answer(PlayedChatInfo, describe_played_chat))),
            Route("GET", "/{conversation}/messages", "read_page", Right.PLAY, PAGE, {"limit": 20}),
        ),
    )
    + mount(
        "workspace",
        "",
        (
            Route(
                "POST",
                "/chat/stream",
                "chat",
                Right.PLAY,
                _EVENTS,
                CHAT_EXAMPLE,
                request=ChatRequest,
                call=_talk,
                find_project=find_chat_project,
                stream=True,
            ),
        ),
    )
)
