"""Providers against a server that speaks their protocols."""

from __future__ import annotations

import asyncio
import json
import time

import pytest
from msgspec.structs import replace

from fabula.context.render import Message
from fabula.core.errors import Code, FabulaError
from fabula.llm.model import Call, Provider
from fabula.llm.provider_config import Patience, Place
from fabula.llm.providers.factory import provider_at
from fabula.llm.retry import ask
from tests.llm.calls import CALL, QUICK, answered, anthropic_at, end_of, openai_at, place_at, refused, text_of
from tests.llm.server import Exchange, Script, Server, anthropic_says, begins, chunk, fails, openai_says, says


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
    rules = "You are a writer who keeps to the rules. " * 20 + "\n\n"
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


@pytest.mark.parametrize("style", ["openai", "anthropic"])
@pytest.mark.parametrize("said", [{"retry_after": "0.3"}, {"retry_after_ms": "300"}])
def test_a_server_is_given_the_time_it_asks_for(server: Server, style: str, said: dict[str, str]) -> None:
    at: list[float] = []

    async def script(exchange: Exchange) -> None:
        at.append(time.monotonic())
        good = openai_says("Now.") if style == "openai" else anthropic_says("Now.")
        await (fails(429, **said) if len(at) == 1 else good)(exchange)

    server.script = script
    assert text_of(answered(place_at(server, style))) == "Now."
    assert at[1] - at[0] >= 0.3


@pytest.mark.parametrize(
    "script",
    [
        fails(429, retry_after="3600"),
        fails(503, retry_after="Wed, 21 Oct 2199 07:28:00 GMT"),
        fails(429, "You exceeded your current quota (insufficient_quota)"),
        fails(400, "Your credit balance is too low"),
    ],
)
def test_what_will_not_pass_soon_is_not_tried_again(server: Server, script: Script) -> None:
    server.script = script
    assert refused(openai_at(server))[0].code in (Code.LLM_RATE_LIMITED, Code.LLM_GONE)
    assert len(server.seen) == 1


def test_nobody_there_is_gone(server: Server) -> None:
    place = Place(name="there", base_url="http://127.0.0.1:9/v1", key_variable="TEST_KEY", patience=QUICK)
    assert refused(place)[0].code is Code.LLM_GONE


def test_no_key_is_said_before_anything_is_sent(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", " ")
    assert refused(openai_at(server))[0].code is Code.LLM_NO_KEY
    assert not server.seen


@pytest.mark.parametrize("style", ["openai", "anthropic"])
def test_who_stops_listening_stops_the_request(server: Server, style: str) -> None:
    async def script(exchange: Exchange) -> None:
        await begins(exchange, style, "word ")
        while True:
            await says(exchange, style, "word ")
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
    async def silent(exchange: Exchange) -> None:
        await begins(exchange, "openai", "So far")
        await asyncio.sleep(30)

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


SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


def test_a_server_that_can_holds_the_answer_to_a_schema(server: Server) -> None:
    server.script = openai_says('{"ok": true}')
    answered(openai_at(server), Call(model="m", messages=CALL.messages, schema=SCHEMA))
    assert server.seen[0].asked["response_format"]["json_schema"]["schema"] == SCHEMA
    assert server.seen[0].asked["messages"] == [{"role": "user", "content": "Go on."}]


@pytest.mark.parametrize("style", ["openai", "anthropic"])
def test_elsewhere_it_is_told_at_the_end_so_that_the_beginning_stays_what_it_was(server: Server, style: str) -> None:
    server.script = openai_says("{}") if style == "openai" else anthropic_says("{}")
    place = replace(place_at(server, style), shapes=False)
    answered(place)
    answered(place, Call(model="m", messages=CALL.messages, schema=SCHEMA, max_tokens=50))
    plain, shaped = (exchange.asked for exchange in server.seen)
    assert {name: shaped[name] for name in plain if name != "messages"} == {
        name: plain[name] for name in plain if name != "messages"
    }
    assert set(shaped) == set(plain)
    assert json.dumps(shaped["messages"]).startswith(json.dumps(plain["messages"])[: -len('"}]}]')])
    assert '\\"boolean\\"' in json.dumps(shaped["messages"])


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("Unsupported value: 'temperature' does not support 0.8 with this model.", "temperature"),
        ("Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.", "max_tokens"),
        ("stream_options: Extra inputs are not permitted", "stream_options"),
        ("Unrecognized request argument supplied: stop", "stop"),
        ("This response_format type is unavailable now", "response_format"),
    ],
)
def test_what_a_server_does_not_take_is_left_out_from_then_on(server: Server, message: str, name: str) -> None:
    async def script(exchange: Exchange) -> None:
        await (fails(400, message) if name in exchange.asked else openai_says("Yes."))(exchange)

    server.script = script
    call = Call(model="m", messages=CALL.messages, temperature=0.8, stop=("END",), schema=SCHEMA)

    async def run() -> None:
        provider = provider_at(openai_at(server))
        for _ in range(2):
            assert text_of([event async for event in ask(provider, call, patience=QUICK)]) == "Yes."
        await provider.aclose()

    asyncio.run(run())
    assert [name in exchange.asked for exchange in server.seen] == [True, False, False]
    assert ("max_completion_tokens" in server.seen[1].asked) == (name == "max_tokens")
    assert ("boolean" in str(server.seen[1].asked["messages"])) == (name == "response_format")


def test_a_refusal_that_only_names_something_is_a_refusal(server: Server) -> None:
    server.script = fails(400, "max_tokens is too large: 50. This model gives at most 10.")
    assert refused(openai_at(server))[0].code is Code.LLM_REFUSED
    assert len(server.seen) == 1


def test_anthropic_gets_what_it_takes(server: Server) -> None:
    server.script = anthropic_says("Yes.")
    messages = (Message("user", "Go on."), Message("assistant", "I went on \n"))
    answered(
        anthropic_at(server), Call(model="c", messages=messages, temperature=1.4, top_p=0.9, stop=("\n", "THE END"))
    )
    asked = server.seen[0].asked
    assert asked["temperature"] == 1.0
    assert "top_p" not in asked
    assert asked["stop_sequences"] == ["THE END"]
    assert asked["messages"][-1]["content"][-1]["text"] == "I went on"


def test_deepseeks_own_name_for_what_was_cached(server: Server) -> None:
    usage = {"prompt_tokens": 14, "completion_tokens": 3, "total_tokens": 17, "prompt_cache_hit_tokens": 6}
    server.script = openai_says("Yes.", usage=usage)
    assert end_of(answered(openai_at(server))).usage.cached_tokens == 6


def test_one_provider_serves_several_loops(server: Server) -> None:
    provider = provider_at(openai_at(server))

    async def run() -> str:
        return text_of([event async for event in ask(provider, CALL, patience=QUICK)])

    assert [asyncio.run(run()) for _ in range(3)] == ["Hello."] * 3


def test_a_key_that_was_missing_may_come_later(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:

    async def run() -> str:
        provider = provider_at(openai_at(server))
        monkeypatch.delenv("TEST_KEY")
        with pytest.raises(FabulaError):
            await anext(ask(provider, CALL, patience=QUICK))
        monkeypatch.setenv("TEST_KEY", "sk-late")
        said = text_of([event async for event in ask(provider, CALL, patience=QUICK)])
        await provider.aclose()
        return said

    assert asyncio.run(run()) == "Hello."
