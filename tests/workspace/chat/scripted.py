"""A cast, and a provider that answers from a script and remembers every prompt."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TypeVar

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.llm.model import ModelCall, StreamEnd, StreamEvent, TextChunk, Usage
from fabula.workspace.chat import ChatEvent, ReplyFailed, ReplyStored
from fabula.workspace.project import ProjectHandle

_TURN = re.compile(r"\[(.+) speaks next\.|【接下来由(.+?)发言")
Script = Callable[[str, str], str]  # who is asked, and the prompt; the answer
Event = TypeVar("Event")
_FAILURE = FabulaError(Code.LLM_REFUSED, message("This model failed."))


class ScriptedProvider:
    """Answers by who is asked; `FAIL` anywhere in an answer breaks the stream there, with an error that it is given."""

    name = "scripted"

    def __init__(self, script: Script = lambda who, _: f"I am {who}.", failure: Exception = _FAILURE) -> None:
        self.script, self.failure = script, failure
        self.prompts: list[tuple[str, str]] = []  # who was asked, and the whole prompt

    async def stream(self, call: ModelCall) -> AsyncGenerator[StreamEvent, None]:
        prompt = "\n".join(f"<{one.role}> {one.content}" for one in call.messages)
        found = _TURN.findall(prompt)
        who = next(filter(None, found[-1])) if found else ""
        self.prompts.append((who, prompt))
        answer, fails, _ = self.script(who, prompt).partition("FAIL")
        for piece in re.findall(r"\S+\s*|\s+", answer):
            await asyncio.sleep(0)
            yield TextChunk(piece)
        if fails:
            raise self.failure
        yield StreamEnd(usage=Usage(input_tokens=len(prompt), output_tokens=len(answer)))

    async def aclose(self) -> None: ...

    def prompts_of(self, who: str) -> list[str]:
        return [prompt for asked, prompt in self.prompts if asked == who]


def collect(events: AsyncGenerator[ChatEvent, None]) -> list[ChatEvent]:
    """Run a turn to its end."""

    async def run() -> list[ChatEvent]:
        return [event async for event in events]

    return asyncio.run(run())


def pick(events: Sequence[ChatEvent], kind: type[Event]) -> list[Event]:
    return [event for event in events if isinstance(event, kind)]


def replies(events: Sequence[ChatEvent]) -> dict[str, str]:
    """What each speaker said, by name."""
    return {event.name: event.message.content for event in pick(events, ReplyStored)}


def failures(events: Sequence[ChatEvent]) -> dict[str, Code]:
    return {event.name: event.error.code for event in pick(events, ReplyFailed)}


def read(project: ProjectHandle, conversation: str = "Pier") -> list[str]:
    """The active path as `name: text`."""
    people = project.chat.get(conversation).people
    page = project.conversations.read_page(conversation)
    return [f"{people.name_of(one.speaker)}: {one.content}" if one.speaker else one.content for one in page.messages]
