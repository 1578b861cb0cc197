"""Chat requests from outside: find the project and the thread, or start one, and collect the replies (cht-1)."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING

from msgspec import Struct

from fabula.conversation import edits
from fabula.conversation.participants import Participants
from fabula.conversation.tables import conversations
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import ENGLISH, message, show
from fabula.manuscript import projects
from fabula.store.transaction import check_texts
from fabula.workspace.chat.events import ChatEvents, MessageStored, PromptHandedOver, ReplyFailed, ReplyStored
from fabula.workspace.chat.replies import ChatModel
from fabula.workspace.grants import has_limits, refuse_request
from fabula.workspace.project import ProjectHandle
from fabula.workspace.schemas.chat import ChatAnswer, ChatRequest, ChatResponse, describe_response
from fabula.workspace.schemas.conversations import describe_message
from fabula.workspace.verbs import require_store
from fabula.workspace.writing_options import ModelChoice

if TYPE_CHECKING:
    from fabula.context.request import Principal
    from fabula.store.store import Store
    from fabula.workspace.workspace import Workspace


class OpenThread(Struct, frozen=True):
    """The project and the conversation of a chat request, and who answers, where the request says it."""

    project: ProjectHandle
    conversation_id: str
    is_new: bool
    model: ModelChoice | None = None


def open_thread(workspace: Workspace, request: ChatRequest, principal: Principal | None = None) -> OpenThread:
    """Find the project and the thread of a request; where no thread is named, one is started."""
    if not request.message.strip():
        raise FabulaError(Code.TEXT_INVALID, message("This message is empty. Nothing was changed."))
    edits.check_length(request.message)
    check_texts({"message": request.message})  # before a thread is started for it
    project = workspace.project(_find_project(workspace.store, request), principal)
    if has_limits(project.principal):
        if not request.thread_id or request.mode or request.role_config or request.provider:
            raise refuse_request()
        return OpenThread(project, request.thread_id, is_new=False)
    model = project.choose_model(provider=request.provider) if request.provider else None
    if not request.thread_id:
        started = project.chat.start(mode=request.mode, roles=request.role_config)
        return OpenThread(project, started.record.id, is_new=True, model=model)
    for project_id in (project.id, *workspace.store.project_ids()):
        with workspace.store.read(project=project_id) as reading:
            if reading.row(conversations, id=request.thread_id) is not None:
                if project_id == project.id:
                    return OpenThread(project, request.thread_id, is_new=False, model=model)
                raise FabulaError(
                    Code.CHAT_THREAD_ELSEWHERE,
                    message(
                        "The thread {thread!r} does not belong to the project {title!r}. Nothing was changed.",
                        thread=request.thread_id,
                        title=project.view.project.title,
                    ),
                )
    raise FabulaError(
        Code.STORE_NOT_FOUND,
        message("There is no thread {thread!r}. Nothing was changed.", thread=request.thread_id),
    )


async def stream_chat(
    workspace: Workspace, request: ChatRequest, *, principal: Principal | None = None, model: ChatModel = None
) -> ChatEvents:
    """Say something in a thread and yield the turn as it goes; a thread that is missing is started."""
    thread = await asyncio.to_thread(open_thread, workspace, request, principal)
    async with aclosing(_send(thread, request, model)) as events:
        async for event in events:
            yield event


async def answer_chat(
    workspace: Workspace,
    request: ChatRequest,
    *,
    principal: Principal | None = None,
    model: ChatModel = None,
    language: str = ENGLISH,
) -> ChatAnswer:
    """Say something in a thread and return the replies in the order in which they came; sentences are in a language."""
    thread = await asyncio.to_thread(open_thread, workspace, request, principal)
    said, responses = None, list[ChatResponse]()
    notes: list[str] = []
    async with aclosing(_send(thread, request, model)) as events:
        async for event in events:
            if isinstance(event, MessageStored):
                said = event.message
                notes += (str(show(note, language)) for note in event.notes)
            elif isinstance(event, ReplyStored):
                responses.append(describe_response(event, event.message, event.message.content, event.usage))
            elif isinstance(event, ReplyFailed):
                failed = describe_response(
                    event, event.message, event.text, event.usage, event.error, language=language
                )
                responses.append(failed)
            elif isinstance(event, PromptHandedOver):
                waits = FabulaError(Code.LLM_NO_KEY, message("There is no model to ask. Paste the answer of one."))
                responses.append(describe_response(event, error=waits, language=language))
    assert said is not None
    names = thread.project.view.snapshot(Participants) or Participants()  # whoever spoke may be new
    return ChatAnswer(
        thread_id=thread.conversation_id,
        user_message=describe_message(said, names),
        responses=tuple(responses),
        notes=tuple(notes),
    )


async def _send(thread: OpenThread, request: ChatRequest, model: ChatModel) -> ChatEvents:
    """Send the message; a thread that was started for it goes again where the message is refused."""
    is_said, project, ident = False, thread.project, thread.conversation_id
    model = thread.model or model
    if has_limits(project.principal):
        sending = await asyncio.to_thread(project.playing.send, ident, request.message, model=model)
    else:
        sending = project.chat.send(ident, request.message, mode=request.mode, roles=request.role_config, model=model)
    try:
        async with aclosing(sending) as events:
            async for event in events:
                is_said = is_said or isinstance(event, MessageStored)
                yield event
    except FabulaError:
        if thread.is_new and not is_said:
            await asyncio.to_thread(_remove, thread)
        raise


def _remove(thread: OpenThread) -> None:
    with require_store(thread.project).write(project=thread.project.id) as tx:
        edits.remove_conversation(tx, thread.conversation_id)


def check_project_name(request: ChatRequest) -> None:
    """Refuse a request that names its project neither by id nor by slug."""
    if not request.project_id and not request.thread_slug:
        raise FabulaError(
            Code.CHAT_PROJECT_MISSING,
            message("Name the project, by its id or by its thread slug. Nothing was changed."),
        )


def _find_project(store: Store, request: ChatRequest) -> str:
    """Return the id of the project that a request names by id, by slug, or by both."""
    check_project_name(request)
    found = projects.find_by_slug(store, request.thread_slug) if request.thread_slug else request.project_id
    if not found or request.project_id not in (None, "", found) or not store.has_project(found):
        asked = request.thread_slug or request.project_id
        raise FabulaError(
            Code.PROJECT_NOT_FOUND, message("There is no project {name!r}. Nothing was changed.", name=asked)
        )
    return found
