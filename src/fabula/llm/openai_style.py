"""Providers that speak as OpenAI does: OpenAI, Ollama, llama.cpp, vLLM, DeepSeek, OpenRouter and many more.

Their caches go by the bytes of the prompt's beginning, so there is nothing to mark: the prefix only has to
stay the same, and that is the engine's work.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any

from fabula.context.render import Message
from fabula.core.errors import FabulaError
from fabula.llm.attached import image_part
from fabula.llm.faults import coded, ending, not_installed
from fabula.llm.model import Call, Event, Text, Usage, Why
from fabula.llm.places import Place, key_of

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types.chat import ChatCompletionChunk

_WHY: Mapping[str, Why] = {"stop": "stop", "length": "length", "content_filter": "filtered", "tool_calls": "stop"}


class OpenAIStyle:
    """A server with `/chat/completions`."""

    def __init__(self, place: Place) -> None:
        self.name = place.name
        self._place = place
        self._client: AsyncOpenAI | None = None

    async def stream(self, call: Call) -> AsyncGenerator[Event, None]:
        """The answer, piece by piece."""
        client = self._connected()
        usage = Usage(told=False)
        why: Why | None = None
        try:
            answer = await client.chat.completions.create(**self._asked(call))
            try:
                async for chunk in answer:
                    usage = _usage(chunk) or usage
                    for choice in chunk.choices or ():
                        piece = getattr(choice.delta, "content", None)
                        if isinstance(piece, str) and piece:
                            yield Text(piece)
                        why = _WHY.get(choice.finish_reason or "", why)
            finally:
                await answer.close()
        except FabulaError:
            raise
        except Exception as error:
            raise coded(error, self.name) from error
        yield ending(why, usage, self.name)

    async def aclose(self) -> None:
        """Let go of connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _connected(self) -> AsyncOpenAI:
        if self._client is None:
            try:
                from openai import AsyncOpenAI

                from fabula.llm.doors import client
            except ImportError as error:
                raise not_installed(self.name) from error
            place = self._place
            self._client = AsyncOpenAI(
                api_key=key_of(place) or "none",
                base_url=place.base_url,
                max_retries=0,  # trying again is done in one place, for all providers
                http_client=client(place),
            )
        return self._client

    def _asked(self, call: Call) -> dict[str, Any]:
        asked: dict[str, Any] = {
            "model": call.model,
            "messages": [_said(message) for message in call.messages],
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        # OpenAI's newer models refuse the old name; everybody else knows only that one.
        own = "api.openai.com" in self._place.base_url
        asked["max_completion_tokens" if own else "max_tokens"] = call.max_tokens
        for name in ("temperature", "top_p"):
            if getattr(call, name) is not None:
                asked[name] = getattr(call, name)
        if call.stop:
            asked["stop"] = list(call.stop)
        if call.schema is not None:
            shape = {"name": "answer", "schema": dict(call.schema), "strict": True}
            asked["response_format"] = {"type": "json_schema", "json_schema": shape}
        return asked


def _said(message: Message) -> dict[str, Any]:
    if not message.attachments:
        return {"role": message.role, "content": message.content}
    images = [{"type": "image_url", "image_url": {"url": image_part(one).url}} for one in message.attachments]
    return {"role": message.role, "content": [*images, {"type": "text", "text": message.content}]}


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
