"""Helpers that call a model server on the loopback and collect the events."""

from __future__ import annotations

import asyncio

import pytest

from fabula.context.render import PromptMessage
from fabula.core.errors import FabulaError
from fabula.llm.model import ModelCall, StreamEnd, StreamEvent, TextChunk
from fabula.llm.provider_config import ProviderConfig, RetryPolicy
from fabula.llm.providers import make_provider
from fabula.llm.retry import stream_answer
from tests.llm.server import ModelServer

QUICK_POLICY = RetryPolicy(connect_seconds=2, silence_seconds=2, total_seconds=20, max_attempts=3, first_delay=0.01)
CALL = ModelCall(model="m", messages=(PromptMessage("user", "Go on."),), max_tokens=50, input_tokens=12)


def config_for(server: ModelServer, style: str) -> ProviderConfig:
    """The configuration of the server as a provider of this API style."""
    return openai_config(server) if style == "openai" else anthropic_config(server)


def openai_config(server: ModelServer) -> ProviderConfig:
    return ProviderConfig(name="there", base_url=server.url, key_variable="TEST_KEY", retry_policy=QUICK_POLICY)


def anthropic_config(server: ModelServer) -> ProviderConfig:
    url = server.url.removesuffix("/v1")
    return ProviderConfig(
        name="there", api_style="anthropic", base_url=url, key_variable="TEST_KEY", retry_policy=QUICK_POLICY
    )


def collect_events(
    config: ProviderConfig, call: ModelCall = CALL, retry_policy: RetryPolicy = QUICK_POLICY
) -> list[StreamEvent]:
    """All events of a call."""

    async def run() -> list[StreamEvent]:
        provider = make_provider(config)
        try:
            return [event async for event in stream_answer(provider, call, retry_policy=retry_policy)]
        finally:
            await provider.aclose()

    return asyncio.run(run())


def expect_error(
    config: ProviderConfig, call: ModelCall = CALL, retry_policy: RetryPolicy = QUICK_POLICY
) -> tuple[FabulaError, str]:
    """The error of a call, and the text before it."""
    chunks: list[str] = []

    async def run() -> None:
        provider = make_provider(config)
        try:
            async for event in stream_answer(provider, call, retry_policy=retry_policy):
                chunks.extend([event.text] if isinstance(event, TextChunk) else [])
        finally:
            await provider.aclose()

    with pytest.raises(FabulaError) as failure:
        asyncio.run(run())
    return failure.value, "".join(chunks)


def join_text(events: list[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextChunk))


def find_end(events: list[StreamEvent]) -> StreamEnd:
    last = events[-1]
    assert isinstance(last, StreamEnd)
    return last
