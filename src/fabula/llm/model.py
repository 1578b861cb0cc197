"""Types of a model call: the call, the events of its stream, token usage, and the provider protocol.

A provider turns a call into a stream of text chunks with one end. Closing the stream stops the request; text that has
arrived stays valid.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Struct

from fabula.context.render import PromptMessage
from fabula.core.messages import message
from fabula.core.view import Language

FinishReason = Literal["stop", "length", "filtered", "tool_calls", "handed_over", "copied"]
HANDED_OVER: tuple[FinishReason, ...] = ("handed_over", "copied")  # nothing was sent; copied: to the clipboard


class ModelCall(Struct, frozen=True, kw_only=True):
    """One request to a model: the assembled messages and the parameters of the answer."""

    model: str
    messages: tuple[PromptMessage, ...]
    max_tokens: int = 1024
    temperature: float | None = None
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    schema: Mapping[str, Any] | None = None  # the JSON schema of the answer, if it has one
    input_tokens: int | None = None  # our own count, to check what the provider reports
    language: Language = "en"  # of the instruction to follow the schema
    originals: Mapping[str, Mapping[str, Any]] = {}  # by source: messages with images or calls, as a client sent them
    parameters: Mapping[str, Any] = {}  # of a client, such as its tools: they are sent as they are
    speaker_name: str = ""  # who is to answer in a chat: for a person who carries the prompt to a model
    role_names: Mapping[str, str] = {}  # who speaks in a role of the prompt, where its lines carry no names

    @property
    def max_answer_characters(self) -> int:
        """The length beyond which an answer cannot be one of `max_tokens` tokens."""
        return 2_000 + 24 * self.max_tokens

    @property
    def sampling(self) -> dict[str, float]:
        """The sampling parameters that are set, by their usual names."""
        parameters = {"temperature": self.temperature, "top_p": self.top_p}
        return {name: value for name, value in parameters.items() if value is not None}


class Usage(Struct, frozen=True, kw_only=True):
    """The tokens that a call used: as the provider reported them, or our own count."""

    input_tokens: int = 0  # cached ones included
    cached_tokens: int = 0  # read from the provider's cache
    cache_write_tokens: int = 0  # written to the cache, where that has a price of its own
    output_tokens: int = 0
    reported_by_provider: bool = True


class TextChunk(Struct, frozen=True):
    """A piece of the answer; an empty one is a sign of life."""

    text: str
    tool_calls: tuple[Mapping[str, Any], ...] = ()  # pieces of calls of a client's tools, as the server sent them


class StreamEnd(Struct, frozen=True, kw_only=True):
    """The end of an answer: its finish reason and usage."""

    finish_reason: FinishReason = "stop"
    usage: Usage = Usage(reported_by_provider=False)


StreamEvent = TextChunk | StreamEnd


def describe_schema(call: ModelCall) -> str:
    """The instruction to follow the schema. It ends the prompt, so the prefix stays the same for every skill."""
    schema = msgspec.json.encode(call.schema, order="deterministic").decode()
    instruction = message("Answer with one JSON object of this JSON schema and nothing else:\n{schema}", schema=schema)
    return instruction.render(call.language)


class Provider(Protocol):
    """A model server, a local model or the clipboard."""

    @property
    def name(self) -> str: ...

    def stream(self, call: ModelCall) -> AsyncGenerator[StreamEvent, None]:
        """Stream the answer to a call; closing the generator stops the request. Raises FabulaError."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...
