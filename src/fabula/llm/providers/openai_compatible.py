"""Providers that speak as OpenAI does: OpenAI, Ollama, llama.cpp, vLLM, DeepSeek, OpenRouter and many more.

Their caches go by the bytes of the prompt's beginning, so there is nothing to mark: the prefix only has to stay the
same, and that is the engine's work. Servers differ in what they take beside the prompt: what one of them refuses by
name is left out from then on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fabula.context.render import Message
from fabula.core.errors import FabulaError
from fabula.llm.model import Call, Event, Text, Usage, Why, in_words
from fabula.llm.provider_config import Place, key_of
from fabula.llm.provider_errors import coded, ending, not_installed, unwanted
from fabula.llm.providers.attachments import Piece, piece_of
from fabula.llm.providers.client_cache import Kept

if TYPE_CHECKING:
    from openai import AsyncOpenAI, AsyncStream
    from openai.types.chat import ChatCompletionChunk

_WHY: Mapping[str, Why] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "filtered",
    "safety": "filtered",
}
_BROKEN = frozenset({"error", "abort", "insufficient_system_resource"})  # ended, and not because it was done
_OPTIONAL = ("temperature", "top_p", "stop", "stream_options", "response_format")
_LENGTHS = ("max_tokens", "max_completion_tokens")
_MOST_STOPS = 4


class OpenAIStyle:
    """A server with `/chat/completions`."""

    def __init__(self, place: Place) -> None:
        self.name = place.name
        self._place = place
        self._client: Kept[AsyncOpenAI] = Kept(self._made)
        self._unwanted: set[tuple[str, str]] = set()  # model, and what it does not take

    async def stream(self, call: Call) -> AsyncGenerator[Event, None]:
        """The answer, piece by piece."""
        client = await self._client.get()
        usage = Usage(told=False)
        why: Why | None = None
        try:
            answer = await self._begun(client, call)
            try:
                async for chunk in answer:
                    usage = _usage(chunk) or usage
                    for choice in chunk.choices or ():
                        piece = getattr(choice.delta, "content", None)
                        # One without text is a sign of life: the model thinks.
                        yield Text(piece if isinstance(piece, str) else "")
                        why = _ended(choice.finish_reason) or why
            finally:
                await answer.close()
        except FabulaError:
            raise
        except Exception as error:
            raise coded(error, self.name) from error
        yield ending(why, usage, self.name)

    async def aclose(self) -> None:
        """Let go of connections."""
        await self._client.close()

    def _made(self) -> AsyncOpenAI:
        try:
            from openai import AsyncOpenAI

            from fabula.llm.providers.http import client
        except ImportError as error:
            raise not_installed(self.name) from error
        key = key_of(self._place)
        return AsyncOpenAI(
            api_key=key or "none",
            base_url=self._place.base_url,
            max_retries=0,  # trying again is done in one place, for all providers
            http_client=client(self._place, keyed=bool(key)),
        )

    async def _begun(self, client: AsyncOpenAI, call: Call) -> AsyncStream[ChatCompletionChunk]:
        """The stream of an answer; asked for anew without what the server names as what it does not take."""
        attached = any(message.attachments for message in call.messages)
        while True:
            asked = self._asked(call)
            shapes = "response_format" in asked
            messages = await asyncio.to_thread(_said, call, shapes) if attached else _said(call, shapes)
            try:
                # The client walks through what it gets by name; what it gets as `extra_body` it sends as it is.
                return await client.chat.completions.create(
                    model=call.model, messages=[], stream=True, extra_body={**asked, "messages": messages}
                )
            except Exception as error:
                name = unwanted(error, [name for name in (*_OPTIONAL, *_LENGTHS) if name in asked])
                if name is None or (name in _LENGTHS and self._no_length_known(call.model)):
                    raise
                self._unwanted.add((call.model, name))

    def _no_length_known(self, model: str) -> bool:
        """Was one of the two names of a length refused already? Without either, an answer would have no end."""
        return any((model, name) in self._unwanted for name in _LENGTHS)

    def _asked(self, call: Call) -> dict[str, Any]:
        # OpenAI's newer models refuse the old name of a length; everybody else knows only that one.
        names = _LENGTHS[::-1] if urlsplit(self._place.base_url).hostname == "api.openai.com" else _LENGTHS
        asked: dict[str, Any] = {"stream_options": {"include_usage": True}}
        asked[next((name for name in names if (call.model, name) not in self._unwanted), names[0])] = call.max_tokens
        for name in ("temperature", "top_p"):
            if getattr(call, name) is not None:
                asked[name] = getattr(call, name)
        if call.stop:
            asked["stop"] = list(call.stop[:_MOST_STOPS])
        if call.schema is not None and self._place.shapes:
            shape = {"name": "answer", "schema": dict(call.schema), "strict": True}
            asked["response_format"] = {"type": "json_schema", "json_schema": shape}
        return {name: value for name, value in asked.items() if (call.model, name) not in self._unwanted}


def _said(call: Call, shapes: bool) -> list[dict[str, Any]]:
    """The messages; where a schema would stand before them and move every byte, it is told in words at the end."""
    said = [one for message in call.messages for one in _one(message)]
    if call.schema is not None and not shapes:
        said.append({"role": "user", "content": in_words(call.schema)})
    return said


def _one(message: Message) -> list[dict[str, Any]]:
    """A message, and what goes along with it behind its text, so that the text stays where it was; said by the user."""
    plain: dict[str, Any] = {"role": message.role, "content": message.content}
    if not message.attachments:
        return [plain]
    parts = [_part(piece_of(one)) for one in message.attachments]
    if message.role != "user":
        return [plain, {"role": "user", "content": parts}]
    text = [{"type": "text", "text": message.content}] if message.content else []
    return [{"role": "user", "content": [*text, *parts]}]


def _part(piece: Piece) -> dict[str, Any]:
    if piece.kind == "image":
        return {"type": "image_url", "image_url": {"url": piece.url}}
    if piece.kind == "pdf":
        return {"type": "file", "file": {"filename": piece.name, "file_data": piece.url}}
    return {"type": "text", "text": f"[{piece.name}]\n{piece.text}"}


def _ended(reason: object) -> Why | None:
    """Why an answer ended. Servers have reasons of their own; all but a few mean that it was done."""
    if not isinstance(reason, str) or not reason or reason in _BROKEN:
        return None
    return _WHY.get(reason.lower(), "stop")


def _usage(chunk: ChatCompletionChunk) -> Usage | None:
    told = chunk.usage
    if told is None:
        return None
    details = getattr(told, "prompt_tokens_details", None)
    cached = getattr(details, "cached_tokens", None)
    if cached is None:  # DeepSeek's own name for it
        cached = getattr(told, "prompt_cache_hit_tokens", 0)
    return Usage(
        input_tokens=_whole(told.prompt_tokens),
        cached_tokens=_whole(cached),
        output_tokens=_whole(told.completion_tokens),
    )


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else -1 if value is not None else 0
