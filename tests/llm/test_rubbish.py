"""Providers against a server that speaks badly: coded, bounded, and what came is kept."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Awaitable, Callable

import pytest

from fabula.core.errors import Code
from fabula.llm.provider_config import Patience
from tests.llm.calls import CALL, answered, end_of, openai_at, place_at, refused, text_of
from tests.llm.server import Exchange, Script, Server, begins, chunk, openai_says, says, usage_chunk

Bad = Callable[[Exchange, str], Awaitable[None]]


async def half_a_character(exchange: Exchange, style: str) -> None:
    await exchange.send(b'event: content_block_delta\ndata: {"choices":[{"index":0,"delta":{"content":"\xe4\xb8')
    await exchange.send(b'"}}]}\n\n')
    await exchange.event("[DONE]")


async def no_end(exchange: Exchange, style: str) -> None:
    """It just stops."""


async def broken_json(exchange: Exchange, style: str) -> None:
    await exchange.event('{"choices": [{"delta"', "content_block_delta")


async def deep_json(exchange: Exchange, style: str) -> None:
    await exchange.event('{"choices": ' + "[" * 500_000, "content_block_delta")


async def one_long_line(exchange: Exchange, style: str) -> None:
    await exchange.send(b"event: content_block_delta\ndata: ")
    for _ in range(100):
        await exchange.send(b"x" * 1_000_000)


async def never_ends(exchange: Exchange, style: str) -> None:
    while True:
        await says(exchange, style, "again and again ")


async def numbers_for_text(exchange: Exchange, style: str) -> None:
    delta = {"type": "text_delta", "text": 7}
    bad = {"choices": "many"} if style == "openai" else {"type": "content_block_delta", "index": 0, "delta": delta}
    await exchange.event(bad, "content_block_delta")
    await exchange.event(
        {"choices": [{"delta": 3}]} if style == "openai" else {"type": "message_delta"}, "message_delta"
    )


async def an_error_in_the_stream(exchange: Exchange, style: str) -> None:
    await exchange.event({"type": "error", "error": {"message": "overloaded", "type": "overloaded_error"}}, "error")


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
def test_rubbish_ends_with_a_code_and_what_came_is_kept(server: Server, bad: Bad, code: Code, style: str) -> None:
    async def script(exchange: Exchange) -> None:
        await begins(exchange, style, "So far")
        await bad(exchange, style)

    server.script = script
    error, said = refused(place_at(server, style))
    assert error.code is code
    assert said.startswith("So far")
    assert len(said) <= CALL.most_characters + 100
    assert len(server.seen) == 1  # nothing is asked twice once text has come


async def html(exchange: Exchange) -> None:
    await exchange.head(200, "text/html")
    await exchange.send(b"<html><body>Welcome</body></html>")


async def html_that_calls_itself_a_stream(exchange: Exchange) -> None:
    await exchange.head(200)
    await exchange.send(b"<html><body>Welcome</body></html>\n\n")


async def a_small_line_that_unfolds(exchange: Exchange) -> None:
    await exchange.head(200, content_encoding="gzip")
    await exchange.send(gzip.compress(b"data: " + b"x" * 50_000_000))


async def a_small_error_that_unfolds(exchange: Exchange) -> None:
    await exchange.head(400, "application/json", content_encoding="gzip")
    await exchange.send(gzip.compress(b" " * 50_000_000))


async def an_endless_error(exchange: Exchange) -> None:
    await exchange.head(400, "application/json")
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
def test_what_is_no_answer_at_all_is_refused(server: Server, script: Script, codes: set[Code], style: str) -> None:
    server.script = script
    error, said = refused(place_at(server, style))
    assert error.code in codes
    assert said == ""
    assert server.seen[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("style", ["openai", "anthropic"])
def test_silence_ends_in_time(server: Server, style: str) -> None:
    async def script(exchange: Exchange) -> None:
        await begins(exchange, style, "So far")
        while True:
            await exchange.send(b": still here\n\n")
            await asyncio.sleep(0.05)

    server.script = script
    error, said = refused(place_at(server, style), patience=Patience(silence_seconds=0.4, tries=1))
    assert (error.code, said) == (Code.LLM_TIMEOUT, "So far")


@pytest.mark.parametrize("style", ["openai", "anthropic"])
def test_a_model_that_thinks_for_long_is_not_silent(server: Server, style: str) -> None:
    async def script(exchange: Exchange) -> None:
        await begins(exchange, style, "")
        for _ in range(8):
            await says(exchange, style, None)
            await asyncio.sleep(0.1)
        await says(exchange, style, "Now.", ends=True)

    server.script = script
    assert text_of(answered(place_at(server, style), patience=Patience(silence_seconds=0.4, tries=1))) == "Now."


def test_thinking_without_end_ends(server: Server) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.head()
        while True:
            await says(exchange, "openai", None)
            await asyncio.sleep(0.01)

    server.script = script
    patience = Patience(silence_seconds=1, whole_seconds=1.5, tries=1)
    assert refused(openai_at(server), patience=patience)[0].code is Code.LLM_TIMEOUT


def test_an_end_without_done_is_an_end_when_the_reason_was_given(server: Server) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.event(chunk("All of it."))
        await exchange.event(chunk(why="stop"))

    server.script = script
    assert text_of(answered(openai_at(server))) == "All of it."


@pytest.mark.parametrize(
    ("reason", "code"),
    [("content_filter", Code.LLM_FILTERED), ("error", Code.LLM_GONE), ("abort", Code.LLM_GONE)],
)
def test_an_end_for_a_bad_reason_is_a_failure(server: Server, reason: str, code: Code) -> None:
    server.script = openai_says("So far", why=reason)
    error, said = refused(openai_at(server))
    assert (error.code, said) == (code, "So far")


def test_a_reason_nobody_heard_of_is_an_end(server: Server) -> None:
    server.script = openai_says("All of it.", why="eos_token")
    assert end_of(answered(openai_at(server))).why == "stop"


def test_a_character_in_two_halves_arrives_whole(server: Server) -> None:
    server.script = openai_says("wave \ud83c", "\udf0a", " and half \ud83c")
    assert text_of(answered(openai_at(server))) == "wave 🌊 and half �"


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
def test_figures_that_cannot_be_true_are_replaced_by_our_own(server: Server, usage: dict[str, object]) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.event(chunk("Eight or nine words of an answer, no more."))
        await exchange.event(chunk(why="stop"))
        await exchange.event(usage_chunk(**usage))
        await exchange.event("[DONE]")

    server.script = script
    used = end_of(answered(openai_at(server))).usage
    assert not used.told
    assert used.input_tokens == CALL.input_tokens
    assert 5 < used.output_tokens < 30


def test_a_long_answer_that_is_said_to_have_cost_nothing_is_counted(server: Server) -> None:
    usage = {"prompt_tokens": 12, "completion_tokens": 0, "total_tokens": 12}
    server.script = openai_says(*["word and word "] * 150, usage=usage)
    used = end_of(answered(openai_at(server))).usage
    assert not used.told
    assert used.output_tokens > 300
