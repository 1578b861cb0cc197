"""Calls to a server that misbehaves: errors have codes, answers have bounds, and received text is kept."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import cast

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.llm.model import ModelCall, StreamEvent, TextChunk
from fabula.llm.provider_config import RetryPolicy
from fabula.llm.retry import stream_answer
from tests.llm.calls import (
    CALL,
    QUICK_POLICY,
    collect_events,
    config_for,
    expect_error,
    find_end,
    join_text,
    openai_config,
)
from tests.llm.server import Exchange, ModelServer, Script, chunk, openai_answer, send_chunk, start_answer, usage_chunk

Bad = Callable[[Exchange, str], Awaitable[None]]


async def half_a_character(exchange: Exchange, style: str) -> None:
    await exchange.send(b'event: content_block_delta\ndata: {"choices":[{"index":0,"delta":{"content":"\xe4\xb8')
    await exchange.send(b'"}}]}\n\n')
    await exchange.send_event("[DONE]")


async def no_end(exchange: Exchange, style: str) -> None:
    """It just stops."""


async def broken_json(exchange: Exchange, style: str) -> None:
    await exchange.send_event('{"choices": [{"delta"', "content_block_delta")


async def deep_json(exchange: Exchange, style: str) -> None:
    await exchange.send_event('{"choices": ' + "[" * 500_000, "content_block_delta")


async def one_long_line(exchange: Exchange, style: str) -> None:
    await exchange.send(b"event: content_block_delta\ndata: ")
    for _ in range(100):
        await exchange.send(b"x" * 1_000_000)


async def never_ends(exchange: Exchange, style: str) -> None:
    while True:
        await send_chunk(exchange, style, "again and again ")


async def numbers_for_text(exchange: Exchange, style: str) -> None:
    delta = {"type": "text_delta", "text": 7}
    bad = {"choices": "many"} if style == "openai" else {"type": "content_block_delta", "index": 0, "delta": delta}
    await exchange.send_event(bad, "content_block_delta")
    await exchange.send_event(
        {"choices": [{"delta": 3}]} if style == "openai" else {"type": "message_delta"}, "message_delta"
    )


async def an_error_in_the_stream(exchange: Exchange, style: str) -> None:
    await exchange.send_event(
        {"type": "error", "error": {"message": "overloaded", "type": "overloaded_error"}}, "error"
    )


@pytest.mark.parametrize("style", ["openai", "anthropic"])
@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (half_a_character, Code.LLM_ANSWER_INVALID),
        (no_end, Code.LLM_GONE),
        (broken_json, Code.LLM_ANSWER_INVALID),
        (deep_json, Code.LLM_ANSWER_INVALID),
        (one_long_line, Code.LLM_ANSWER_INVALID),
        (never_ends, Code.LLM_ANSWER_INVALID),
        (numbers_for_text, Code.LLM_ANSWER_INVALID),
        (an_error_in_the_stream, Code.LLM_GONE),
    ],
)
def test_an_invalid_answer_ends_with_a_code_after_the_text_before_it(
    server: ModelServer, bad: Bad, code: Code, style: str
) -> None:
    async def script(exchange: Exchange) -> None:
        await start_answer(exchange, style, "So far")
        await bad(exchange, style)

    server.script = script
    error, text = expect_error(config_for(server, style))
    assert error.code is code
    assert text.startswith("So far")
    assert len(text) <= CALL.max_answer_characters + 100
    assert len(server.exchanges) == 1  # nothing is asked twice once text has come


async def html(exchange: Exchange) -> None:
    await exchange.send_head(200, "text/html")
    await exchange.send(b"<html><body>Welcome</body></html>")


async def html_that_calls_itself_a_stream(exchange: Exchange) -> None:
    await exchange.send_head(200)
    await exchange.send(b"<html><body>Welcome</body></html>\n\n")


async def a_small_line_that_unfolds(exchange: Exchange) -> None:
    await exchange.send_head(200, content_encoding="gzip")
    await exchange.send(gzip.compress(b"data: " + b"x" * 50_000_000))


async def a_small_error_that_unfolds(exchange: Exchange) -> None:
    await exchange.send_head(400, "application/json", content_encoding="gzip")
    await exchange.send(gzip.compress(b" " * 50_000_000))


async def an_endless_error(exchange: Exchange) -> None:
    await exchange.send_head(400, "application/json")
    while True:
        await exchange.send(b" " * 1_000_000)


@pytest.mark.parametrize("style", ["openai", "anthropic"])
@pytest.mark.parametrize(
    ("script", "codes"),
    [
        (html, {Code.LLM_ANSWER_INVALID}),
        (html_that_calls_itself_a_stream, {Code.LLM_GONE, Code.LLM_ANSWER_INVALID}),
        (a_small_line_that_unfolds, {Code.LLM_ANSWER_INVALID}),
        (a_small_error_that_unfolds, {Code.LLM_ANSWER_INVALID}),
        (an_endless_error, {Code.LLM_ANSWER_INVALID}),
    ],
)
def test_an_answer_that_is_no_stream_is_refused(
    server: ModelServer, script: Script, codes: set[Code], style: str
) -> None:
    server.script = script
    error, text = expect_error(config_for(server, style))
    assert error.code in codes
    assert text == ""
    assert server.exchanges[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("style", ["openai", "anthropic"])
def test_silence_ends_with_a_timeout(server: ModelServer, style: str) -> None:
    async def script(exchange: Exchange) -> None:
        await start_answer(exchange, style, "So far")
        while True:
            await exchange.send(b": still here\n\n")
            await asyncio.sleep(0.05)

    server.script = script
    error, text = expect_error(config_for(server, style), retry_policy=RetryPolicy(silence_seconds=2, max_attempts=1))
    assert (error.code, text) == (Code.LLM_TIMEOUT, "So far")


@pytest.mark.parametrize("style", ["openai", "anthropic"])
def test_reasoning_chunks_reset_the_silence_timeout(server: ModelServer, style: str) -> None:
    async def script(exchange: Exchange) -> None:
        await start_answer(exchange, style, "")
        for _ in range(8):
            await send_chunk(exchange, style, None)
            await asyncio.sleep(0.3)
        await send_chunk(exchange, style, "Now.", ends=True)

    server.script = script
    assert (
        join_text(
            collect_events(config_for(server, style), retry_policy=RetryPolicy(silence_seconds=2, max_attempts=1))
        )
        == "Now."
    )


def test_endless_reasoning_ends_with_a_timeout(server: ModelServer) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.send_head()
        while True:
            await send_chunk(exchange, "openai", None)
            await asyncio.sleep(0.01)

    server.script = script
    patience = RetryPolicy(silence_seconds=1, total_seconds=1.5, max_attempts=1)
    assert expect_error(openai_config(server), retry_policy=patience)[0].code is Code.LLM_TIMEOUT


def test_a_stream_with_a_finish_reason_needs_no_done_event(server: ModelServer) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.send_head()
        await exchange.send_event(chunk("All of it."))
        await exchange.send_event(chunk(why="stop"))

    server.script = script
    assert join_text(collect_events(openai_config(server))) == "All of it."


@pytest.mark.parametrize(
    ("reason", "code"),
    [("content_filter", Code.LLM_FILTERED), ("error", Code.LLM_GONE), ("abort", Code.LLM_GONE)],
)
def test_a_finish_reason_that_means_failure_is_an_error(server: ModelServer, reason: str, code: Code) -> None:
    server.script = openai_answer("So far", why=reason)
    error, text = expect_error(openai_config(server))
    assert (error.code, text) == (code, "So far")


def test_an_unknown_finish_reason_is_a_normal_end(server: ModelServer) -> None:
    server.script = openai_answer("All of it.", why="eos_token")
    assert find_end(collect_events(openai_config(server))).finish_reason == "stop"


def test_surrogate_pairs_split_over_chunks_are_joined(server: ModelServer) -> None:
    server.script = openai_answer("wave \ud83c", "\udf0a", " and half \ud83c")
    assert join_text(collect_events(openai_config(server))) == "wave 🌊 and half �"


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -5, "completion_tokens": 3, "total_tokens": 1},
        {"prompt_tokens": 9_000_000, "completion_tokens": 3, "total_tokens": 1},
        {"prompt_tokens": 10, "completion_tokens": 10**12, "total_tokens": 1},
        {"prompt_tokens": 10, "completion_tokens": 5_000, "total_tokens": 1},
        {
            "prompt_tokens": 10,
            "completion_tokens": 1,
            "total_tokens": 1,
            "prompt_tokens_details": {"cached_tokens": 99},
        },
        {"prompt_tokens": "many", "completion_tokens": None, "total_tokens": 1},
        {"prompt_tokens": 1.5, "completion_tokens": True, "total_tokens": 1},
    ],
)
def test_implausible_usage_is_replaced_by_an_estimate(server: ModelServer, usage: dict[str, object]) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.send_head()
        await exchange.send_event(chunk("Eight or nine words of an answer, no more."))
        await exchange.send_event(chunk(why="stop"))
        await exchange.send_event(usage_chunk(**usage))
        await exchange.send_event("[DONE]")

    server.script = script
    used = find_end(collect_events(openai_config(server))).usage
    assert not used.reported_by_provider
    assert used.input_tokens == CALL.input_tokens
    assert 5 < used.output_tokens < 30


def test_a_long_answer_reported_as_zero_tokens_is_counted(server: ModelServer) -> None:
    usage = {"prompt_tokens": 12, "completion_tokens": 0, "total_tokens": 12}
    server.script = openai_answer(*["word and word "] * 150, usage=usage)
    used = find_end(collect_events(openai_config(server))).usage
    assert not used.reported_by_provider
    assert used.output_tokens > 300


class OwnProvider:
    """A provider of a program's own, which knows nothing of our errors; it fails in its own way behind a text."""

    name = "mine"

    def __init__(self, failure: Exception | None, *, text: str = "So far", odd_event: object = None) -> None:
        self.failure, self.text, self.odd_event = failure, text, odd_event
        self.calls = 0

    async def stream(self, call: ModelCall) -> AsyncGenerator[StreamEvent, None]:
        self.calls += 1
        if self.text:
            yield TextChunk(self.text)
        if self.odd_event is not None:
            yield cast("StreamEvent", self.odd_event)
        if self.failure is not None:
            raise self.failure

    async def aclose(self) -> None: ...


async def stream_of(provider: OwnProvider) -> tuple[FabulaError, str]:
    text = ""
    try:
        async for event in stream_answer(provider, CALL, retry_policy=QUICK_POLICY):
            text += event.text if isinstance(event, TextChunk) else ""
    except FabulaError as error:
        return error, text
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    ("provider", "code"),
    [
        (OwnProvider(ConnectionError("planted words")), Code.LLM_GONE),
        (OwnProvider(ZeroDivisionError("planted words")), Code.LLM_GONE),
        (OwnProvider(KeyError("planted words")), Code.LLM_ANSWER_INVALID),
        (OwnProvider(None), Code.LLM_GONE),  # no `StreamEnd`: it stopped in the middle
        (OwnProvider(None, odd_event="a plain text"), Code.LLM_ANSWER_INVALID),
    ],
    ids=["connection", "arithmetic", "lookup", "no end", "no event"],
)
def test_whatever_a_provider_of_ones_own_raises_has_a_code(
    provider: OwnProvider, code: Code, caplog: pytest.LogCaptureFixture
) -> None:
    error, text = asyncio.run(stream_of(provider))
    assert (error.code, text) == (code, "So far")
    assert provider.calls == 1  # nothing is asked twice once text has come
    assert "planted" not in str(error) + caplog.text
    if provider.failure is not None:
        assert f"{type(provider.failure).__name__} < test_retry.py" in caplog.text
        assert error.__cause__ is provider.failure


def test_a_provider_of_ones_own_that_fails_before_any_text_is_asked_again() -> None:
    provider = OwnProvider(ConnectionError("no route"), text="")
    error, _ = asyncio.run(stream_of(provider))
    assert (error.code, provider.calls) == (Code.LLM_GONE, QUICK_POLICY.max_attempts)
