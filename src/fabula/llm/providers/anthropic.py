"""Provider for Anthropic's Messages API (`/v1/messages`).

The API takes system text apart from the turns, and turns must alternate, beginning with the user. Its prompt cache
works by breakpoints: a request reads from the cache up to a block that an earlier request marked, if every byte before
it is the same. `cache_breakpoints.py` chooses the blocks; this module writes them as `cache_control`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fabula.llm.model import FinishReason, ModelCall, TextChunk, Usage, describe_schema
from fabula.llm.providers.attachments import AttachmentContent, load_attachment
from fabula.llm.providers.cache_breakpoints import PromptBlock, split_blocks
from fabula.llm.providers.http import SdkProvider

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

_FINISH_REASONS: Mapping[str, FinishReason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "filtered",
}
_PLACEHOLDER = "…"  # a user turn where the prompt has none, since a conversation must begin with the user


class AnthropicProvider(SdkProvider["AsyncAnthropic"]):
    """A server that speaks Anthropic's Messages API."""

    def _load_sdk(self) -> type[AsyncAnthropic]:
        from anthropic import AsyncAnthropic

        return AsyncAnthropic

    async def _start(self, client: AsyncAnthropic, call: ModelCall) -> Any:
        has_attachments = any(message.attachments for message in call.messages)
        body = await asyncio.to_thread(build_request, call) if has_attachments else build_request(call)
        # The SDK walks through named arguments, which takes long; it sends `extra_body` as it is.
        return await client.messages.create(
            model=call.model, max_tokens=call.max_tokens, messages=[], stream=True, extra_body=body
        )

    def _read_chunks(self, event: Any) -> Iterable[tuple[TextChunk, FinishReason | None]]:
        if event.type == "content_block_delta":
            text = getattr(event.delta, "text", None)
            yield TextChunk(text if isinstance(text, str) else ""), None
        elif event.type == "message_delta" and event.delta.stop_reason:
            yield TextChunk(""), _FINISH_REASONS.get(event.delta.stop_reason, "stop")

    def _read_usage(self, event: Any, usage: Usage) -> Usage:
        if event.type == "message_start":
            return _add_report(usage, event.message.usage)
        return _add_report(usage, event.usage) if event.type == "message_delta" else usage


def build_request(call: ModelCall) -> dict[str, Any]:
    """The body of a request, without model and length."""
    system, turns = _split_system(split_blocks(call.messages))
    if call.schema is not None:  # as a tool it would precede the prompt and invalidate the cached prefix
        _append_part(turns, "user", {"type": "text", "text": describe_schema(call)})
    if turns[-1]["role"] == "assistant" and "text" in turns[-1]["content"][-1]:
        turns[-1]["content"][-1]["text"] = turns[-1]["content"][-1]["text"].rstrip()  # the API refuses white space here
    request: dict[str, Any] = {"messages": turns}
    if system:
        request["system"] = system
    if call.temperature is not None:
        request["temperature"] = min(call.temperature, 1.0)  # the API goes from 0 to 1, others from 0 to 2
    elif call.top_p is not None:
        request["top_p"] = call.top_p  # newer models refuse both together
    stops = [stop for stop in call.stop if stop.strip()]
    if stops:
        request["stop_sequences"] = stops
    return request


def _split_system(blocks: Sequence[PromptBlock]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The leading system blocks, and alternating turns; system text after the first turn becomes user text."""
    system: list[dict[str, Any]] = []
    turns: list[dict[str, Any]] = []
    for block in blocks:
        if block.role == "system" and not turns and not block.attachments:
            system.append(_text_part(block))
            continue
        for reference in block.attachments:  # before their own text, after what may be cached
            _append_part(turns, "user", _attachment_part(load_attachment(reference)))
        if block.text:
            _append_part(turns, "assistant" if block.role == "assistant" else "user", _text_part(block))
    if not turns:
        _append_part(turns, "user", {"type": "text", "text": _PLACEHOLDER})
    return system, turns


def _append_part(turns: list[dict[str, Any]], role: str, part: dict[str, Any]) -> None:
    """Append a part to the last turn, or to a new one where the role changes."""
    if not turns and role == "assistant":
        turns.append({"role": "user", "content": [{"type": "text", "text": _PLACEHOLDER}]})
    if turns and turns[-1]["role"] == role:
        turns[-1]["content"].append(part)
    else:
        turns.append({"role": role, "content": [part]})


def _text_part(block: PromptBlock) -> dict[str, Any]:
    part: dict[str, Any] = {"type": "text", "text": block.text}
    if block.is_breakpoint:
        part["cache_control"] = {"type": "ephemeral"}
    return part


def _attachment_part(content: AttachmentContent) -> dict[str, Any]:
    if content.kind == "text":
        source = {"type": "text", "media_type": content.media_type, "data": content.text}
    else:
        source = {"type": "base64", "media_type": content.media_type, "data": content.data}
    if content.kind == "image":
        return {"type": "image", "source": source}
    return {"type": "document", "source": source, "title": content.name[:200]}


def _add_report(usage: Usage, report: Any) -> Usage:
    """Add a report of used tokens. Input comes in three parts and at the start; output grows until the end."""

    def read(name: str) -> int | None:
        value = getattr(report, name, None)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    output = read("output_tokens")
    if usage.reported_by_provider:
        return usage if output is None else replace(usage, output_tokens=output)
    uncached = read("input_tokens")
    if uncached is None:
        return usage
    cached, written = read("cache_read_input_tokens") or 0, read("cache_creation_input_tokens") or 0
    return Usage(
        input_tokens=uncached + cached + written,
        cached_tokens=cached,
        cache_write_tokens=written,
        output_tokens=output or 0,
    )
