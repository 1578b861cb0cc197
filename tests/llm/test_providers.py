"""Providers against a server that speaks their protocols, well and badly."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Iterator
from typing import Any

import pytest

from fabula.context.render import Message
from fabula.core.errors import Code, FabulaError
from fabula.llm.asking import ask
from fabula.llm.model import Call, Ended, Event, Provider, Text
from fabula.llm.places import Patience, Place
from fabula.llm.providers import provider_at
from tests.llm.server import Exchange, Script, Server, anthropic_says, chunk, fails, openai_says, serving, usage_chunk

QUICK = Patience(connect_seconds=2, silence_seconds=2, whole_seconds=20, tries=3, first_delay=0.01)
CALL = Call(model="m", messages=(Message("user", "Go on."),), max_tokens=50, input_tokens=12)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "sk-test")


def openai_at(server: Server) -> Place:
    return Place(name="there", base_url=server.url, key_variable="TEST_KEY", patience=QUICK)


def anthropic_at(server: Server) -> Place:
    url = server.url.removesuffix("/v1")
    return Place(name="there", speaks="anthropic", base_url=url, key_variable="TEST_KEY", patience=QUICK)


def answered(place: Place, call: Call = CALL, patience: Patience = QUICK) -> list[Event]:
    """Everything that comes back."""

    async def run() -> list[Event]:
        provider = provider_at(place)
        try:
            return [event async for event in ask(provider, call, patience=patience)]
        finally:
            await provider.aclose()

    return asyncio.run(run())


def refused(place: Place, call: Call = CALL, patience: Patience = QUICK) -> tuple[FabulaError, str]:
    """The failure, and the text that came before it."""
    said: list[str] = []

    async def run() -> None:
        provider = provider_at(place)
        try:
            async for event in ask(provider, call, patience=patience):
                said.extend([event.text] if isinstance(event, Text) else [])
        finally:
            await provider.aclose()

    with pytest.raises(FabulaError) as failure:
        asyncio.run(run())
    return failure.value, "".join(said)


def text_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Text))


def end_of(events: list[Event]) -> Ended:
    last = events[-1]
    assert isinstance(last, Ended)
    return last


def test_openai_streams_and_tells_what_was_cached(server: Server) -> None:
    usage = {"prompt_tokens": 14, "completion_tokens": 3, "total_tokens": 17}
    details = {"prompt_tokens_details": {"cached_tokens": 8}}
    server.script = openai_says("Hel", "lo, 世", "界 🌊.", usage={**usage, **details})
    events = answered(openai_at(server))
    assert text_of(events) == "Hello, 世界 🌊."
    used = end_of(events).usage
    assert (used.input_tokens, used.cached_tokens, used.output_tokens, used.told) == (14, 8, 3, True)
    asked = server.seen[0].asked
    assert asked["stream"] is True
    assert asked["max_tokens"] == 50
    assert asked["messages"] == [{"role": "user", "content": "Go on."}]
    assert server.seen[0].headers["authorization"] == "Bearer sk-test"


def test_anthropic_streams_and_adds_cached_and_written_to_what_was_read(server: Server) -> None:
    usage = {"input_tokens": 4, "cache_read_input_tokens": 6, "cache_creation_input_tokens": 2, "output_tokens": 3}
    server.script = anthropic_says("Hel", "lo.", usage=usage)
    events = answered(anthropic_at(server))
    assert text_of(events) == "Hello."
    used = end_of(events).usage
    assert (used.input_tokens, used.cached_tokens, used.written_tokens, used.output_tokens) == (12, 6, 2, 3)


def test_anthropic_marks_the_end_of_the_stable_prefix_and_the_history_boundary(server: Server) -> None:
    server.script = anthropic_says("Yes.")
    rules = "You are a writer.\n\n"
    messages = (
        Message("system", f"{rules}Found today.", stable=len(rules)),
        Message("user", "First."),
        Message("assistant", "Second."),
        Message("user", "Third."),
    )
    answered(anthropic_at(server), Call(model="c", messages=messages, max_tokens=9))
    asked = server.seen[0].asked
    assert asked["system"][0] == {"type": "text", "text": rules, "cache_control": {"type": "ephemeral"}}
    assert "".join(block["text"] for block in asked["system"]) == f"{rules}Found today."
    assert [turn["role"] for turn in asked["messages"]] == ["user", "assistant", "user"]
    assert "cache_control" in asked["messages"][1]["content"][-1]
    assert "cache_control" not in asked["messages"][2]["content"][-1]


@pytest.mark.parametrize("style", ["openai", "anthropic"])
def test_an_image_goes_along(server: Server, style: str) -> None:
    pixel = base64.b64encode(b"\x89PNG\r\n\x1a\nrest").decode()
    message = Message("user", "What is this?", attachments=(f"data:image/png;base64,{pixel}",))
    server.script = openai_says("A dot.") if style == "openai" else anthropic_says("A dot.")
    place = openai_at(server) if style == "openai" else anthropic_at(server)
    answered(place, Call(model="m", messages=(message,)))
    assert pixel in server.seen[0].body.decode()


def test_a_broken_image_is_refused_before_anything_is_sent(server: Server) -> None:
    message = Message("user", "?", attachments=("data:image/png;base64,bm90IGFuIGltYWdl",))
    error, _ = refused(openai_at(server), Call(model="m", messages=(message,)))
    assert error.code is Code.LLM_ATTACHMENT_INVALID
    assert not server.seen


@pytest.mark.parametrize(
    ("script", "code"),
    [
        (fails(401), Code.LLM_REFUSED),
        (fails(403), Code.LLM_REFUSED),
        (fails(404), Code.LLM_REFUSED),
        (fails(422), Code.LLM_REFUSED),
        (fails(400, "This model's maximum context length is 8192 tokens"), Code.LLM_TOO_LONG),
        (fails(413), Code.LLM_TOO_LONG),
        (fails(400, "The response was filtered: content_filter"), Code.LLM_FILTERED),
        (fails(302, location="http://127.0.0.1:1/"), Code.LLM_REFUSED),
    ],
)
@pytest.mark.parametrize("style", ["openai", "anthropic"])
def test_each_refusal_has_its_code_and_is_not_tried_again(
    server: Server, script: Script, code: Code, style: str
) -> None:
    server.script = script
    error, _ = refused(openai_at(server) if style == "openai" else anthropic_at(server))
    assert error.code is code
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("status", "code"),
    [(429, Code.LLM_RATE_LIMITED), (500, Code.LLM_GONE), (503, Code.LLM_GONE), (504, Code.LLM_TIMEOUT)],
)
@pytest.mark.parametrize("style", ["openai", "anthropic"])
def test_what_may_pass_is_tried_again_and_then_reported(server: Server, status: int, code: Code, style: str) -> None:
    server.script = fails(status)
    error, _ = refused(openai_at(server) if style == "openai" else anthropic_at(server))
    assert error.code is code
    assert len(server.seen) == QUICK.tries


def test_a_second_try_that_works_is_an_answer(server: Server) -> None:
    async def script(exchange: Exchange) -> None:
        await (fails(429, retry_after="0.01") if len(server.seen) == 1 else openai_says("Now."))(exchange)

    server.script = script
    assert text_of(answered(openai_at(server))) == "Now."
    assert len(server.seen) == 2


def test_nobody_there_is_gone(server: Server) -> None:
    place = Place(name="there", base_url="http://127.0.0.1:9/v1", key_variable="TEST_KEY", patience=QUICK)
    assert refused(place)[0].code is Code.LLM_GONE


def test_no_key_is_said_before_anything_is_sent(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", " ")
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    assert refused(openai_at(server))[0].code is Code.LLM_NO_KEY
    assert not server.seen


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest",
        "http://[fe80::1]/v1",
        "http://[::ffff:169.254.169.254]/v1",
        "http://[fd00:ec2::254]/v1",
        "http://0.0.0.0/v1",
        "http://100.100.100.200/v1",
        "http://2852039166/v1",
        "ftp://127.0.0.1/v1",
        "file:///etc/passwd",
        "http://",
        "http://user:word@127.0.0.1/v1",
        "not an address",
    ],
)
def test_addresses_where_no_model_lives_are_refused(url: str) -> None:
    place = Place(name="there", base_url=url, key_variable="TEST_KEY", patience=QUICK)
    assert refused(place)[0].code is Code.LLM_ADDRESS_REFUSED


def test_an_address_that_was_allowed_is_tried(server: Server) -> None:
    place = Place(
        name="there",
        base_url="http://0.0.0.0:9/v1",
        key_variable="TEST_KEY",
        patience=QUICK,
        allow_any_address=True,
    )
    assert refused(place)[0].code is Code.LLM_GONE


async def html(exchange: Exchange) -> None:
    await exchange.head(200, "text/html")
    await exchange.send(b"<html><body>Welcome</body></html>")


async def half_a_character(exchange: Exchange) -> None:
    await exchange.head()
    await exchange.event(chunk("Fine. "))
    await exchange.send(b'data: {"choices":[{"index":0,"delta":{"content":"\xe4\xb8')
    await exchange.send(b'"}}]}\n\n')
    await exchange.event("[DONE]")


async def no_done(exchange: Exchange) -> None:
    await exchange.head()
    await exchange.event(chunk("So far"))


async def broken_json(exchange: Exchange) -> None:
    await exchange.head()
    await exchange.event(chunk("So far"))
    await exchange.event('{"choices": [{"delta"')


async def one_long_line(exchange: Exchange) -> None:
    await exchange.head()
    await exchange.event(chunk("So far"))
    await exchange.send(b"data: ")
    for _ in range(100):
        await exchange.send(b"x" * 1_000_000)


async def never_ends(exchange: Exchange) -> None:
    await exchange.head()
    while True:
        await exchange.event(chunk("again and again "))


async def silent(exchange: Exchange) -> None:
    await exchange.head()
    await exchange.event(chunk("So far"))
    await asyncio.sleep(30)


async def says_error_in_the_stream(exchange: Exchange) -> None:
    await exchange.head()
    await exchange.event(chunk("So far"))
    await exchange.event({"error": {"message": "overloaded", "type": "server_error"}})


async def odd_shapes(exchange: Exchange) -> None:
    await exchange.head()
    await exchange.event(chunk("So far"))
    await exchange.event({"choices": [{"index": 0, "delta": {"content": 7}}]})
    await exchange.event({"choices": "many"})


@pytest.mark.parametrize(
    ("script", "code", "kept"),
    [
        (html, Code.LLM_ANSWER_INVALID, ""),
        (half_a_character, Code.LLM_ANSWER_INVALID, "Fine. "),
        (no_done, Code.LLM_GONE, "So far"),
        (broken_json, Code.LLM_ANSWER_INVALID, "So far"),
        (one_long_line, Code.LLM_ANSWER_INVALID, "So far"),
        (never_ends, Code.LLM_ANSWER_INVALID, "again and again "),
        (says_error_in_the_stream, Code.LLM_GONE, "So far"),
        (odd_shapes, Code.LLM_ANSWER_INVALID, "So far"),
    ],
)
def test_rubbish_ends_with_a_code_and_what_came_is_kept(server: Server, script: Script, code: Code, kept: str) -> None:
    server.script = script
    error, said = refused(openai_at(server))
    assert error.code is code
    assert said.startswith(kept)
    assert len(said) <= CALL.most_characters + 100
    assert len(server.seen) == 1  # nothing is asked twice once text has come


def test_silence_ends_in_time(server: Server) -> None:
    server.script = silent
    error, said = refused(openai_at(server), patience=Patience(silence_seconds=0.3, tries=1))
    assert (error.code, said) == (Code.LLM_TIMEOUT, "So far")


def test_an_end_without_done_is_an_end_when_the_reason_was_given(server: Server) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.event(chunk("All of it."))
        await exchange.event(chunk(why="stop"))

    server.script = script
    assert text_of(answered(openai_at(server))) == "All of it."


def test_a_character_in_two_halves_arrives_whole(server: Server) -> None:
    server.script = openai_says("wave \ud83c", "\udf0a", " and half \ud83c")
    assert text_of(answered(openai_at(server))) == "wave 🌊 and half �"


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -5, "completion_tokens": 3, "total_tokens": 1},
        {"prompt_tokens": 9_000_000, "completion_tokens": 3, "total_tokens": 1},
        {"prompt_tokens": 10, "completion_tokens": 10**12, "total_tokens": 1},
        {
            "prompt_tokens": 10,
            "completion_tokens": 1,
            "total_tokens": 1,
            "prompt_tokens_details": {"cached_tokens": 99},
        },
        {"prompt_tokens": "many", "completion_tokens": None, "total_tokens": 1},
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


@pytest.mark.parametrize("style", ["openai", "anthropic"])
def test_who_stops_listening_stops_the_request(server: Server, style: str) -> None:
    async def script(exchange: Exchange) -> None:
        if style == "openai":
            await never_ends(exchange)
        await exchange.head()
        usage = {"input_tokens": 1, "output_tokens": 1}
        start: dict[str, Any] = {"id": "m", "type": "message", "role": "assistant", "content": [], "usage": usage}
        await exchange.event({"type": "message_start", "message": {**start, "model": "c"}}, "message_start")
        while True:
            delta = {"type": "text_delta", "text": "word "}
            await exchange.event({"type": "content_block_delta", "index": 0, "delta": delta}, "content_block_delta")
            await asyncio.sleep(0.01)

    server.script = script
    place = openai_at(server) if style == "openai" else anthropic_at(server)

    async def run() -> None:
        provider: Provider = provider_at(place)
        events = ask(provider, CALL, patience=QUICK)
        await anext(events)
        await events.aclose()
        await provider.aclose()

    asyncio.run(run())
    assert server.gone.wait(5)


def test_a_cancelled_task_stops_the_request_too(server: Server) -> None:
    server.script = silent

    async def run() -> None:
        provider = provider_at(openai_at(server))

        async def listen() -> None:
            async for _ in ask(provider, CALL, patience=QUICK):
                pass

        task = asyncio.create_task(listen())
        while not server.seen:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await provider.aclose()

    start = time.monotonic()
    asyncio.run(run())
    assert server.gone.wait(5)
    assert time.monotonic() - start < 25


def test_two_hundred_streams_at_once_lose_nothing(server: Server) -> None:
    pieces = [f"{number} " for number in range(40)]

    async def script(exchange: Exchange) -> None:
        await exchange.head()
        for piece in pieces:
            await exchange.event(chunk(piece))
            await asyncio.sleep(0)
        await exchange.event(chunk(why="stop"))
        await exchange.event("[DONE]")

    server.script = script

    async def run() -> list[str]:
        provider = provider_at(openai_at(server))

        async def one() -> str:
            return text_of([event async for event in ask(provider, CALL, patience=Patience())])

        try:
            return await asyncio.gather(*(one() for _ in range(200)))
        finally:
            await provider.aclose()

    assert set(asyncio.run(run())) == {"".join(pieces)}


def test_a_schema_is_asked_for_in_each_ones_words(server: Server) -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    call = Call(model="m", messages=CALL.messages, schema=schema)
    server.script = openai_says('{"ok": true}')
    answered(openai_at(server), call)
    assert server.seen[0].asked["response_format"]["json_schema"]["schema"] == schema
    server.script = anthropic_says("{}")
    answered(anthropic_at(server), call)
    assert server.seen[1].asked["tool_choice"]["name"] == "answer"
