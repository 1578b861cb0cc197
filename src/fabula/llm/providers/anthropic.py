"""Anthropic: system text apart from the turns, and marks that say up to where the prompt is worth keeping.

Its cache goes by blocks: a request reads what an earlier one wrote up to a marked block, if every byte before
is the same. `marks.py` says where blocks end; here they become `cache_control`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fabula.core.errors import FabulaError
from fabula.llm.model import Call, Event, Text, Usage, Why, in_words
from fabula.llm.provider_config import Place, key_of
from fabula.llm.provider_errors import coded, ending, not_installed
from fabula.llm.providers.attachments import Piece, piece_of
from fabula.llm.providers.cache_breakpoints import Block, blocks
from fabula.llm.providers.client_cache import Kept

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

_WHY: Mapping[str, Why] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "filtered",
}
_BEGIN = "…"  # said by nobody; a conversation must begin with the user


class AnthropicStyle:
    """A server with `/v1/messages`."""

    def __init__(self, place: Place) -> None:
        self.name = place.name
        self._place = place
        self._client: Kept[AsyncAnthropic] = Kept(self._made)

    async def stream(self, call: Call) -> AsyncGenerator[Event, None]:
        """The answer, piece by piece."""
        client = await self._client.get()
        usage, why = Usage(told=False), None
        attached = any(message.attachments for message in call.messages)
        try:
            said = await asyncio.to_thread(asked, call) if attached else asked(call)
            # The client walks through what it gets by name; what it gets as `extra_body` it sends as it is.
            answer = await client.messages.create(
                model=call.model, max_tokens=call.max_tokens, messages=[], stream=True, extra_body=said
            )
            try:
                async for event in answer:
                    if event.type == "message_start":
                        usage = _read(event.message.usage, usage)
                    elif event.type == "content_block_delta":
                        piece = getattr(event.delta, "text", None)
                        # One without text is a sign of life: the model thinks.
                        yield Text(piece if isinstance(piece, str) else "")
                    elif event.type == "message_delta":
                        usage = _read(event.usage, usage)
                        if event.delta.stop_reason:
                            why = _WHY.get(event.delta.stop_reason, "stop")
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

    def _made(self) -> AsyncAnthropic:
        try:
            from anthropic import AsyncAnthropic

            from fabula.llm.providers.http import client
        except ImportError as error:
            raise not_installed(self.name) from error
        key = key_of(self._place)
        return AsyncAnthropic(
            api_key=key or "none",
            base_url=self._place.base_url,
            max_retries=0,  # trying again is done in one place, for all providers
            http_client=client(self._place, keyed=bool(key)),
        )


def asked(call: Call) -> dict[str, Any]:
    """A call in Anthropic's words, without its model and length."""
    head, turns = _apart(blocks(call.messages))
    if call.schema is not None:  # as a tool it would stand before the prompt, and nothing cached could be read
        _say(turns, "user", {"type": "text", "text": in_words(call.schema)})
    if turns[-1]["role"] == "assistant" and "text" in turns[-1]["content"][-1]:
        turns[-1]["content"][-1]["text"] = turns[-1]["content"][-1]["text"].rstrip()  # it may not end in white space
    request: dict[str, Any] = {"messages": turns}
    if head:
        request["system"] = head
    if call.temperature is not None:
        request["temperature"] = min(call.temperature, 1.0)  # its scale ends where others' middle is
    elif call.top_p is not None:
        request["top_p"] = call.top_p  # one of both, say its newer models
    stops = [stop for stop in call.stop if stop.strip()]
    if stops:
        request["stop_sequences"] = stops
    return request


def _apart(found: Sequence[Block]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The system blocks at the head, then turns that alternate; later system text is said by the user."""
    head: list[dict[str, Any]] = []
    turns: list[dict[str, Any]] = []
    for block in found:
        if block.role == "system" and not turns and not block.attachments:
            head.append(_part(block))
            continue
        for reference in block.attachments:  # before the words they belong to, behind what may be cached
            _say(turns, "user", _along(piece_of(reference)))
        if block.text:
            _say(turns, "assistant" if block.role == "assistant" else "user", _part(block))
    if not turns:
        _say(turns, "user", {"type": "text", "text": _BEGIN})
    return head, turns


def _say(turns: list[dict[str, Any]], role: str, part: dict[str, Any]) -> None:
    """One more part, in the turn that is open or in a new one; the user begins."""
    if not turns and role == "assistant":
        turns.append({"role": "user", "content": [{"type": "text", "text": _BEGIN}]})
    if turns and turns[-1]["role"] == role:
        turns[-1]["content"].append(part)
    else:
        turns.append({"role": role, "content": [part]})


def _part(block: Block) -> dict[str, Any]:
    part: dict[str, Any] = {"type": "text", "text": block.text}
    if block.marked:
        part["cache_control"] = {"type": "ephemeral"}
    return part


def _along(piece: Piece) -> dict[str, Any]:
    if piece.kind == "text":
        source = {"type": "text", "media_type": piece.media, "data": piece.text}
    else:
        source = {"type": "base64", "media_type": piece.media, "data": piece.data}
    if piece.kind == "image":
        return {"type": "image", "source": source}
    return {"type": "document", "source": source, "title": piece.name[:200]}


def _read(told: Any, before: Usage) -> Usage:
    """Anthropic tells cached and written tokens apart from the rest, and some of it only at the start."""

    def figure(name: str) -> int | None:
        value = getattr(told, name, None)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    fresh, cached = figure("input_tokens"), figure("cache_read_input_tokens")
    written, output = figure("cache_creation_input_tokens"), figure("output_tokens")
    if not before.told and fresh is None:
        return before
    if before.told:
        return Usage(
            input_tokens=before.input_tokens,
            cached_tokens=before.cached_tokens,
            written_tokens=before.written_tokens,
            output_tokens=before.output_tokens if output is None else output,
        )
    return Usage(
        input_tokens=(fresh or 0) + (cached or 0) + (written or 0),
        cached_tokens=cached or 0,
        written_tokens=written or 0,
        output_tokens=output or 0,
    )
