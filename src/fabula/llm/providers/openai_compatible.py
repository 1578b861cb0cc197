"""Provider for OpenAI-compatible servers: OpenAI, Ollama, llama.cpp, vLLM, DeepSeek, OpenRouter and many more.

Their prompt caches compare the bytes from the beginning, so there are no breakpoints to set: the engine keeps the
prefix stable. Servers differ in the parameters they take: one that a server rejects by name is left out from then on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fabula.context.render import PromptMessage
from fabula.llm.model import FinishReason, ModelCall, TextChunk, Usage, describe_schema
from fabula.llm.provider_config import ProviderConfig
from fabula.llm.provider_errors import find_rejected_parameter
from fabula.llm.providers.attachments import AttachmentContent, load_attachment
from fabula.llm.providers.http import SdkProvider

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_FINISH_REASONS: Mapping[str, FinishReason] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "filtered",
    "function_call": "tool_calls",
    "tool_calls": "tool_calls",
    "safety": "filtered",
}
_FAILURE_REASONS = frozenset({"error", "abort", "insufficient_system_resource"})
_OPTIONAL = ("temperature", "top_p", "stop", "stream_options", "response_format")
_LENGTHS = ("max_tokens", "max_completion_tokens")
_MAX_STOPS = 4


class OpenAICompatibleProvider(SdkProvider["AsyncOpenAI"]):
    """A server that speaks OpenAI's Chat Completions API."""

    def __init__(self, config: ProviderConfig) -> None:
        super().__init__(config)
        self._rejected: set[tuple[str, str]] = set()  # model and parameter

    def _load_sdk(self) -> type[AsyncOpenAI]:
        from openai import AsyncOpenAI

        return AsyncOpenAI

    def _read_chunks(self, event: Any) -> Iterable[tuple[TextChunk, FinishReason | None]]:
        for choice in event.choices or ():
            text = getattr(choice.delta, "content", None)
            calls = getattr(choice.delta, "tool_calls", None) or ()
            pieces = tuple(one.model_dump(exclude_unset=True) for one in calls)
            yield TextChunk(text if isinstance(text, str) else "", pieces), _read_finish_reason(choice.finish_reason)

    def _read_usage(self, event: Any, usage: Usage) -> Usage:
        report = event.usage
        if report is None:
            return usage
        details = getattr(report, "prompt_tokens_details", None)
        cached = getattr(details, "cached_tokens", None)
        if cached is None:  # DeepSeek's name for it
            cached = getattr(report, "prompt_cache_hit_tokens", 0)
        return Usage(
            input_tokens=_read_count(report.prompt_tokens),
            cached_tokens=_read_count(cached),
            output_tokens=_read_count(report.completion_tokens),
        )

    async def _start(self, client: AsyncOpenAI, call: ModelCall) -> Any:
        """Send the request, again without each parameter that the server rejects by name."""
        has_attachments = any(message.attachments for message in call.messages)
        while True:
            parameters = self._build_parameters(call)
            schema_in_prompt = call.schema is not None and "response_format" not in parameters
            build = partial(_build_messages, call, schema_in_prompt)
            messages = await asyncio.to_thread(build) if has_attachments else build()
            try:
                # The SDK walks through named arguments, which takes long; it sends `extra_body` as it is.
                return await client.chat.completions.create(
                    model=call.model, messages=[], stream=True, extra_body={**parameters, "messages": messages}
                )
            except Exception as error:
                name = find_rejected_parameter(error, [name for name in (*_OPTIONAL, *_LENGTHS) if name in parameters])
                if name is None or (name in _LENGTHS and self._has_rejected_length(call.model)):
                    raise
                self._rejected.add((call.model, name))

    def _has_rejected_length(self, model: str) -> bool:
        """Whether one name of the length was rejected; without both, an answer would have no bound."""
        return any((model, name) in self._rejected for name in _LENGTHS)

    def _build_parameters(self, call: ModelCall) -> dict[str, Any]:
        # OpenAI's newer models reject the old name of the length; all other servers know only that one.
        names = _LENGTHS[::-1] if urlsplit(self._config.base_url).hostname == "api.openai.com" else _LENGTHS
        length = next((name for name in names if (call.model, name) not in self._rejected), names[0])
        parameters = {
            **call.parameters,
            "stream_options": {"include_usage": True},
            length: call.max_tokens,
            **call.sampling,
        }
        if call.stop:
            parameters["stop"] = list(call.stop[:_MAX_STOPS])
        if call.schema is not None and self._config.supports_schema:
            schema = {"name": "answer", "schema": dict(call.schema), "strict": True}
            parameters["response_format"] = {"type": "json_schema", "json_schema": schema}
        return {name: value for name, value in parameters.items() if (call.model, name) not in self._rejected}


def _build_messages(call: ModelCall, schema_in_prompt: bool) -> list[dict[str, Any]]:
    """The messages; a schema goes to the end of the prompt where the server would put it before the messages."""
    messages: list[dict[str, Any]] = []
    for message in call.messages:
        original = call.originals.get(message.source)
        messages += _build_turns(message) if original is None else [dict(original)]
    if call.schema is not None and schema_in_prompt:
        messages.append({"role": "user", "content": describe_schema(call)})
    return messages


def _build_turns(message: PromptMessage) -> list[dict[str, Any]]:
    """A message with its attachments, which follow the text and are always the user's."""
    plain: dict[str, Any] = {"role": message.role, "content": message.content}
    if not message.attachments:
        return [plain]
    parts = [_attachment_part(load_attachment(reference)) for reference in message.attachments]
    if message.role != "user":
        return [plain, {"role": "user", "content": parts}]
    text = [{"type": "text", "text": message.content}] if message.content else []
    return [{"role": "user", "content": [*text, *parts]}]


def _attachment_part(content: AttachmentContent) -> dict[str, Any]:
    if content.kind == "image":
        return {"type": "image_url", "image_url": {"url": content.url}}
    if content.kind == "pdf":
        return {"type": "file", "file": {"filename": content.name, "file_data": content.url}}
    return {"type": "text", "text": f"[{content.name}]\n{content.text}"}


def _read_finish_reason(reason: object) -> FinishReason | None:
    """Why an answer ended. Servers invent reasons; all but the known ones mean a normal end."""
    if not isinstance(reason, str) or not reason or reason in _FAILURE_REASONS:
        return None
    return _FINISH_REASONS.get(reason.lower(), "stop")


def _read_count(value: object) -> int:
    """A token count; -1, which `retry.py` refuses, for a value that is none."""
    if value is None:
        return 0
    return value if isinstance(value, int) and not isinstance(value, bool) else -1
