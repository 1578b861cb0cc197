"""Schemas of OpenAI's Chat Completions API, as far as Fabula reads and writes them (ppl-2).

A client may send any parameter that its model's server knows. Fabula reads those that decide about the prompt and the
answer, refuses those that it could not honour, and hands all others on as they are. The messages of a client are kept
as they came, because images, names and tool calls have forms of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from fabula.core.decoding import explain_decode_error
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, join_names, message
from fabula.llm.model import FinishReason, Usage
from fabula.workspace.schemas.schema import check_depth

ClientRole = Literal["system", "developer", "user", "assistant", "tool", "function"]

_REFUSED = ("audio", "function_call", "functions", "logprobs", "modalities", "prediction", "top_logprobs")
_READ_PARAMETERS = frozenset(
    (
        "max_completion_tokens",
        "max_tokens",
        "messages",
        "metadata",
        "model",
        "n",
        "stop",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "top_p",
    )
)


class ClientMessage(Struct, frozen=True, kw_only=True):
    """A message as a client sends it; what is not named here stays in its original."""

    role: ClientRole
    content: str | list[dict[str, Any]] | None = None
    name: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None

    @property
    def text(self) -> str:
        """The words of the message, with tool calls as JSON."""
        parts = [self.content] if isinstance(self.content, str) else map(_read_text, self.content or ())
        calls = [msgspec.json.encode(call).decode() for call in self.tool_calls or ()]
        return "\n".join(part for part in (*parts, *calls) if part)

    @property
    def image_count(self) -> int:
        """How many parts are neither text nor refusals: images and files."""
        return 0 if isinstance(self.content, str | None) else sum(not _read_text(one) for one in self.content)

    @property
    def is_plain(self) -> bool:
        """Whether its text and role are all there is to it."""
        return self.image_count == 0 and not self.tool_calls and self.role not in ("tool", "function")


class CompletionRequest(Struct, frozen=True, kw_only=True):
    """A request for a completion: what decides about the prompt, and what is handed on."""

    model: str
    messages: tuple[ClientMessage, ...]
    originals: tuple[Mapping[str, Any], ...]  # of the messages, as they came
    parameters: Mapping[str, Any]  # that are handed on as they came
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    stream: bool = False
    include_usage: bool = False  # in a stream
    store: bool = False
    metadata: Mapping[str, str] = {}


class _StreamOptions(Struct):
    include_usage: bool = False


class _Parameters(Struct, kw_only=True):
    model: str
    messages: list[msgspec.Raw]
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: str | list[str] | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    store: bool | None = None
    metadata: dict[str, str] | None = None
    n: int | None = None


class CompletionUsage(Struct):
    """The tokens of a completion, as OpenAI names them."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: dict[str, int]


def read_completion(data: bytes) -> CompletionRequest:
    """Read the body of a request; one that cannot be read, or asks for what Fabula cannot give, is refused."""
    try:
        read = msgspec.json.decode(data, type=_Parameters)
        body: dict[str, Any] = msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise refuse_completion(explain_decode_error(error, _Parameters)) from error
    messages = tuple(map(_read_message, read.messages))
    check_depth(data, body, what=message("request"))
    wanted = [name for name in _REFUSED if body.get(name) not in (None, False, [], ["text"])]
    if wanted:
        raise refuse_completion(message("Fabula cannot give {names}", names=join_names(wanted)))
    if read.n not in (None, 1):
        raise refuse_completion(message("Fabula gives one answer to a request, so `n` must be 1"))
    if not messages:
        raise refuse_completion(message("it has no messages"))
    length = read.max_completion_tokens if read.max_completion_tokens is not None else read.max_tokens
    if length is not None and length < 1:
        raise refuse_completion(message("`{name}` must be at least 1", name="max_tokens"))
    options = read.stream_options or _StreamOptions()
    return CompletionRequest(
        model=read.model,
        messages=messages,
        originals=tuple(body["messages"]),
        parameters={name: value for name, value in body.items() if name not in _READ_PARAMETERS and value is not None},
        max_tokens=length,
        temperature=read.temperature,
        top_p=read.top_p,
        stop=(read.stop,) if isinstance(read.stop, str) else tuple(read.stop or ()),
        stream=bool(read.stream),
        include_usage=options.include_usage,
        store=bool(read.store),
        metadata=read.metadata or {},
    )


def _read_message(data: bytes) -> ClientMessage:
    try:
        return msgspec.json.decode(data, type=ClientMessage)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise refuse_completion(explain_decode_error(error, ClientMessage)) from error


def refuse_completion(reason: Sentence) -> FabulaError:
    """Return the error for a request that cannot be answered."""
    return FabulaError(Code.REQUEST_INVALID, message("The request cannot be used: {reason}.", reason=reason))


class CompletionDelta(Struct, omit_defaults=True):
    """A piece of an answer."""

    role: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    tool_calls: Sequence[Mapping[str, Any]] | UnsetType = UNSET


class ChunkChoice(Struct):
    """The one choice of a chunk."""

    delta: CompletionDelta
    finish_reason: str | None = None
    index: int = 0
    logprobs: None = None


class CompletionChunk(Struct, kw_only=True):
    """One event of a streamed completion."""

    id: str
    created: int
    model: str
    choices: Sequence[ChunkChoice]
    object: str = "chat.completion.chunk"
    usage: CompletionUsage | UnsetType = UNSET


class AnswerMessage(Struct):
    """A complete answer."""

    content: str | None
    role: str = "assistant"
    refusal: None = None
    tool_calls: Sequence[Mapping[str, Any]] | UnsetType = UNSET


class AnswerChoice(Struct):
    """The one choice of a completion."""

    message: AnswerMessage
    finish_reason: str
    index: int = 0
    logprobs: None = None


class Completion(Struct, kw_only=True):
    """A completion in one piece."""

    id: str
    created: int
    model: str
    choices: Sequence[AnswerChoice]
    usage: CompletionUsage
    object: str = "chat.completion"


def describe_usage(usage: Usage) -> CompletionUsage:
    """Describe the tokens of a call as OpenAI does."""
    return CompletionUsage(
        prompt_tokens=usage.input_tokens,
        completion_tokens=usage.output_tokens,
        total_tokens=usage.input_tokens + usage.output_tokens,
        prompt_tokens_details={"cached_tokens": usage.cached_tokens},
    )


def name_finish_reason(reason: FinishReason) -> str:
    """Return OpenAI's name of a reason why an answer ended."""
    if reason == "filtered":
        return "content_filter"
    return reason if reason in ("length", "tool_calls") else "stop"


def join_tool_calls(pieces: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Join the pieces of streamed tool calls: those with one index are one call, whose arguments are joined."""
    calls: dict[int, dict[str, Any]] = {}
    for number, piece in enumerate(pieces):
        index = piece.get("index", number)
        call = calls.setdefault(index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
        function = piece.get("function") or {}
        call["id"] = piece.get("id") or call["id"]
        call["type"] = piece.get("type") or call["type"]
        call["function"]["name"] += function.get("name") or ""
        call["function"]["arguments"] += function.get("arguments") or ""
    return [calls[index] for index in sorted(calls)]


def _read_text(part: Mapping[str, Any]) -> str:
    """The words of a part; empty where it is an image or a file."""
    for name in ("text", "refusal"):
        if isinstance(part.get(name), str):
            return str(part[name])
    return ""
