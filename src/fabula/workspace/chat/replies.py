"""Replies of a chat: ask speakers at once, yield what they say, and store it; what was received is never lost (cht-2).

A reply is stored when it is complete. Of a reply that fails, what was received is stored beside the history; of one
that somebody stops, as the reply.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from fabula.context.request import Request
from fabula.conversation import edits
from fabula.conversation.model import Message, MessageKind
from fabula.conversation.participants import Participant, list_names
from fabula.conversation.replies import ReplyText
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.llm.model import HANDED_OVER, ModelCall, Provider, Usage
from fabula.workspace.chat.events import (
    ChatEvent,
    PromptHandedOver,
    ReplyDelta,
    ReplyFailed,
    ReplyRetry,
    ReplyStored,
    SpeakerStart,
)
from fabula.workspace.chat.rounds import HISTORY_END, ChatRound, store_reply
from fabula.workspace.project import ProjectHandle
from fabula.workspace.verbs import label_change, require_store
from fabula.workspace.writing import Completed, Failed, Retry, TextDelta, Writer
from fabula.workspace.writing_options import DEFAULT_OPTIONS, ModelChoice, size_request

log = logging.getLogger("fabula.chat")

CHAT_SKILL = "chat"
ChatModel = ModelChoice | Provider | None  # None: as the settings say


class Voice(Struct, frozen=True):
    """The provider that speaks for everybody in a turn, and how it was chosen; None: it was handed in."""

    provider: Provider
    choice: ModelChoice | None

    @property
    def is_clipboard(self) -> bool:
        """Whether there is no model, and prompts are handed over."""
        return self.provider.name == "clipboard"

    def make_writer(self, task: ReplyTask) -> Writer:
        """Make the writer of a reply."""
        options = DEFAULT_OPTIONS if self.choice is None else self.choice.options

        def name_speakers(call: ModelCall) -> ModelCall:
            return replace(call, speaker_name=task.name, role_names=task.role_names)

        return Writer(task.project, self.provider, options=options, run_state="used", adapt_call=name_speakers)

    def size(self, request: Request) -> Request:
        """Make the request one for the chosen model."""
        return request if self.choice is None else size_request(request, self.choice)


class ReplyTask(Struct, frozen=True, kw_only=True):
    """What one speaker is asked: the project as the prompt sees it, the request, and where the reply goes."""

    speaker: Participant
    project: ProjectHandle
    request: Request
    conversation_id: str
    asked_in: ChatRound
    history_end: str = ""  # the newest message that the prompt holds
    other_names: tuple[str, ...] = ()
    role_names: Mapping[str, str] = {}  # who speaks in a role of the prompt, where its lines carry no names
    sibling_of: Message | None = None  # a reply that is given again
    continues: Message | None = None  # a reply that goes on

    @property
    def name(self) -> str:
        """The name of the speaker."""
        return list_names(self.speaker)[0]

    @property
    def audience(self) -> tuple[str, ...] | None:
        """Who hears the reply, if it is a whisper."""
        again = self.sibling_of or self.continues
        return again.audience if again is not None else self.asked_in.audience

    def begin_text(self) -> ReplyText:
        """Return the empty text of the reply."""
        return ReplyText(list_names(self.speaker), self.other_names)


@asynccontextmanager
async def open_voice(project: ProjectHandle, model: ChatModel) -> AsyncIterator[Voice]:
    """Open the provider of a choice, and close it at the end; one that was handed in stays open."""
    from fabula.llm.providers import make_provider

    if model is not None and not isinstance(model, ModelChoice):
        yield Voice(model, None)
        return
    choice = await asyncio.to_thread(project.choose_model) if model is None else model
    provider = make_provider(choice.provider)
    try:
        yield Voice(provider, choice)
    finally:
        await provider.aclose()


async def ask_all(tasks: Sequence[ReplyTask | ReplyFailed], voice: Voice) -> AsyncGenerator[ChatEvent, None]:
    """Ask several speakers at once and yield what they say as it comes; closing it stops them all."""
    queue: asyncio.Queue[ChatEvent | None] = asyncio.Queue()
    running = []
    try:
        for task in tasks:
            if isinstance(task, ReplyFailed):
                yield task
                continue
            yield SpeakerStart(participant_id=task.speaker.id, name=task.name, audience=task.audience)
            running.append(asyncio.create_task(_Reply(task, voice, queue).run()))
            running[-1].add_done_callback(lambda _: queue.put_nowait(None))
        ended = 0
        while ended < len(running):
            event = await queue.get()
            if event is None:
                ended += 1
            else:
                yield event
        await asyncio.gather(*running)
    finally:
        for one in running:
            one.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def store_answer(task: ReplyTask, text: str, *, final: bool = True, extra: Mapping[str, Any]) -> Message:
    """Store what a speaker said: a reply, another reply beside one, or more of one, which can be undone."""
    store, project = require_store(task.project), task.project
    is_more = task.continues is not None and final
    label = label_change(message("message"), text) if is_more else None
    with store.write(project=project.id, user=project.principal.user, undo_label=label) as tx:
        if task.continues is not None and final:
            before = edits.get_message(tx, task.continues.id)
            edits.correct_message(tx, before.id, _join(before.content, text))
            return edits.get_message(tx, before.id)
        sibling, audience = task.sibling_of, task.audience
        reply = Message(
            id="",
            role="assistant",
            content=text,
            speaker=task.speaker.speaker,
            audience=None if audience is None else tuple(one for one in audience if one != task.speaker.id),
            kind=MessageKind.REPLY,
            final=final,
            skill_id=CHAT_SKILL,
            parent_id=sibling.parent_id if sibling is not None else None,
            extra={**extra, HISTORY_END: task.history_end} if task.history_end else extra,
        )
        sibling_of = sibling.id if sibling is not None and final else None
        return store_reply(tx, task.conversation_id, reply, asked_in=task.asked_in, sibling_of=sibling_of)


def explain_empty(reply: ReplyText, name: str) -> FabulaError:
    """Say why nothing is left of an answer: it was empty, or in somebody else's name."""
    if reply.other_name:
        return FabulaError(
            Code.LLM_OTHER_SPEAKER,
            message(
                "{name} was asked, and the answer is in the name of {other}. It is no part of the conversation. "
                "Ask again.",
                name=name,
                other=reply.other_name,
            ),
        )
    return FabulaError(
        Code.LLM_ANSWER_EMPTY, message("{name} was asked, and the answer was empty. Ask again.", name=name)
    )


class _Reply:
    """Asks one speaker, puts what comes into the queue, and stores it."""

    def __init__(self, task: ReplyTask, voice: Voice, queue: asyncio.Queue[ChatEvent | None]) -> None:
        self._task, self._voice, self._queue = task, voice, queue
        self._name = task.name
        self._who: dict[str, Any] = {
            "participant_id": task.speaker.id,
            "name": task.name,
            "audience": task.audience,
        }  # of every event
        self._text = task.begin_text()
        self._is_storing = False

    async def run(self) -> None:
        """Ask, and store the reply, or what was received of it."""
        end: Completed | Failed | FabulaError
        try:
            end = await self._stream()
        except FabulaError as error:  # no prompt could be made
            end = error
        except asyncio.CancelledError:
            self._keep_stopped()
            raise
        if isinstance(end, Completed) and end.finish_reason in HANDED_OVER:
            is_copied = end.finish_reason == "copied"
            self._who["unknown_macros"] = end.unknown_macros
            handed = PromptHandedOver(**self._who, prompt=end.text, is_copied=is_copied)
            self._queue.put_nowait(handed)
            return
        self._show(self._text.finish())
        self._is_storing = True
        self._queue.put_nowait(await asyncio.to_thread(self._store, end))

    async def _stream(self) -> Completed | Failed:
        end: Completed | Failed | None = None
        async with aclosing(self._voice.make_writer(self._task).write(self._task.request)) as events:
            async for event in events:
                if isinstance(event, TextDelta) and not self._voice.is_clipboard:  # whose answer is the prompt
                    self._show(self._text.feed(event.text))
                elif isinstance(event, Retry):
                    self._text = self._task.begin_text()
                    self._queue.put_nowait(ReplyRetry(**self._who))
                elif isinstance(event, Completed | Failed):
                    end = event
        assert end is not None
        return end

    def _show(self, text: str) -> None:
        if text:
            self._queue.put_nowait(ReplyDelta(**self._who, text=text))

    def _store(self, end: Completed | Failed | FabulaError) -> ReplyStored | ReplyFailed:
        """Store a reply; what a failed one left is stored beside the history."""
        text, error = self._text.text.strip(), None
        if isinstance(end, FabulaError):
            return ReplyFailed(**self._who, error=end)
        self._who["unknown_macros"] = end.unknown_macros
        if isinstance(end, Failed):
            error = end.error
        elif not text:
            error, text = explain_empty(self._text, self._name), end.text.strip()
        usage = end.usage if isinstance(end, Completed) else Usage()
        extra: dict[str, Any] = {
            "model": self._task.request.model,
            "run": end.run_id,
            "tokenCount": usage.output_tokens,
        }
        stored: Message | None = None
        if error is None:
            try:
                return ReplyStored(
                    **self._who,
                    message=store_answer(self._task, text, extra=extra),
                    usage=usage,
                    cost=end.cost,
                    run_id=end.run_id,
                    is_cut=bool(self._text.other_name),
                )
            except FabulaError as refused:
                error = refused
        elif text:
            with suppress(FabulaError):
                stored = store_answer(self._task, text, final=False, extra={**extra, "ended": error.code.value})
        return ReplyFailed(
            **self._who,
            error=error,
            text=text,
            message=stored,
            usage=usage,
            cost=end.cost,
            run_id=end.run_id,
        )

    def _keep_stopped(self) -> None:
        """Store what was received before somebody stopped the turn."""
        self._text.finish()
        text = self._text.text.strip()
        if self._is_storing or not text:
            return
        try:
            store_answer(self._task, text, extra={"model": self._task.request.model, "ended": "stopped"})
        except FabulaError as error:
            log.warning("a stopped reply is only on record as a run: %s", error.code.value)


def _join(before: str, after: str) -> str:
    """Join the two parts of a reply; words of scripts with spaces get one between them."""
    needs_space = before[-1:].isascii() and not before[-1:].isspace() and after[:1].isascii() and after[:1].isalnum()
    return f"{before} {after}" if needs_space else f"{before}{after}"
