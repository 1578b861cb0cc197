"""Anthropic: system text apart from the turns, and marks that say up to where the prompt is worth keeping.

Its cache goes by blocks: a request reads what an earlier one wrote up to a marked block, if every byte before
is the same. `marks.py` says where blocks end; here they become `cache_control`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fabula.core.errors import FabulaError
from fabula.llm.attached import image_part
from fabula.llm.faults import coded, ending, not_installed
from fabula.llm.marks import Block, blocks
from fabula.llm.model import Call, Event, Text, Usage, Why
from fabula.llm.places import Place, key_of

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

_WHY: Mapping[str, Why] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "stop",
    "max_tokens": "length",
    "refusal": "filtered",
}
_ANSWER = "answer"  # the tool whose input is the structured answer
_BEGIN = "…"  # said by nobody; a conversation must begin with the user


class AnthropicStyle:
    """A server with `/v1/messages`."""

    def __init__(self, place: Place) -> None:
        self.name = place.name
        self._place = place
        self._client: AsyncAnthropic | None = None

    async def stream(self, call: Call) -> AsyncGenerator[Event, None]:
        """The answer, piece by piece."""
        client = self._connected()
        usage, why = Usage(told=False), None
        try:
            answer = await client.messages.create(**asked(call))
            try:
                async for event in answer:
                    if event.type == "message_start":
                        usage = _read(event.message.usage, usage)
                    elif event.type == "content_block_delta":
                        piece = getattr(event.delta, "text", None) or getattr(event.delta, "partial_json", None)
                        if isinstance(piece, str) and piece:
                            yield Text(piece)
                    elif event.type == "message_delta":
                        usage = _read(event.usage, usage)
                        why = _WHY.get(event.delta.stop_reason or "", why)
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

    def _connected(self) -> AsyncAnthropic:
        if self._client is None:
            try:
                from anthropic import AsyncAnthropic

                from fabula.llm.doors import client
            except ImportError as error:
                raise not_installed(self.name) from error
            place = self._place
            self._client = AsyncAnthropic(
                api_key=key_of(place) or "none",
                base_url=place.base_url,
                max_retries=0,
                http_client=client(place),
            )
        return self._client


def asked(call: Call) -> dict[str, Any]:
    """A call in Anthropic's words."""
    head, turns = _apart(blocks(call.messages))
    request: dict[str, Any] = {
        "model": call.model,
        "max_tokens": call.max_tokens,
        "messages": turns,
        "stream": True,
    }
    if head:
        request["system"] = head
    for name in ("temperature", "top_p"):
        if getattr(call, name) is not None:
            request[name] = getattr(call, name)
    if call.stop:
        request["stop_sequences"] = list(call.stop)
    if call.schema is not None:
        request["tools"] = [{"name": _ANSWER, "input_schema": dict(call.schema)}]
        request["tool_choice"] = {"type": "tool", "name": _ANSWER}
    return request


def _apart(found: Sequence[Block]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The system blocks at the head, then turns that alternate; later system text is said by the user."""
    head: list[dict[str, Any]] = []
    turns: list[dict[str, Any]] = []
    for block in found:
        part = _part(block)
        if block.role == "system" and not turns:
            head.append(part)
            continue
        role = "assistant" if block.role == "assistant" else "user"
        if not turns and role == "assistant":
            turns.append({"role": "user", "content": [{"type": "text", "text": _BEGIN}]})
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"].append(part)
        else:
            turns.append({"role": role, "content": [part]})
        for reference in block.attachments:
            image = image_part(reference)
            source = {"type": "base64", "media_type": image.kind, "data": image.data}
            turns[-1]["content"].insert(0, {"type": "image", "source": source})
    if not turns:
        turns.append({"role": "user", "content": [{"type": "text", "text": _BEGIN}]})
    return head, turns


def _part(block: Block) -> dict[str, Any]:
    part: dict[str, Any] = {"type": "text", "text": block.text}
    if block.marked:
        part["cache_control"] = {"type": "ephemeral"}
    return part


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
