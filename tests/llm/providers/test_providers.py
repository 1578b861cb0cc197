"""Both API styles against a server with their protocols."""

from __future__ import annotations

import asyncio
import json
import time

import pytest
from msgspec.structs import replace

from fabula.context.render import PromptMessage
from fabula.core.errors import Code, FabulaError
from fabula.llm.model import ModelCall, Provider
from fabula.llm.provider_config import ProviderConfig, RetryPolicy
from fabula.llm.providers import make_provider
from fabula.llm.retry import stream_answer
from tests.llm.calls import (
    CALL,
    QUICK_POLICY,
    anthropic_config,
    collect_events,
    config_for,
    expect_error,
    find_end,
    join_text,
    openai_config,
)
from tests.llm.server import (
    Exchange,
    ModelServer,
    Script,
    anthropic_answer,
    chunk,
    error_answer,
    openai_answer,
    send_chunk,
    start_answer,
)


def test_openai_streams_and_reports_cached_tokens(server: ModelServer) -> None:
    usage = {"prompt_tokens": 14, "completion_tokens": 3, "total_tokens": 17}
    details = {"prompt_tokens_details": {"cached_tokens": 8}}
    server.script = openai_answer("Hel", "lo, 世", "界 🌊.", usage={**usage, **details})
    events = collect_events(openai_config(server))
    assert join_text(events) == "Hello, 世界 🌊."
    used = find_end(events).usage
    assert (used.input_tokens, used.cached_tokens, used.output_tokens, used.reported_by_provider) == (14, 8, 3, True)
    request = server.exchanges[0].request
    assert request["stream"] is True
    assert request["max_tokens"] == 50
    assert request["messages"] == [{"role": "user", "content": "Go on."}]
    assert server.exchanges[0].headers["authorization"] == "Bearer sk-test"


def test_anthropic_usage_adds_cached_and_written_tokens_to_the_input(server: ModelServer) -> None:
    usage = {"input_tokens": 4, "cache_read_input_tokens": 6, "cache_creation_input_tokens": 2, "output_tokens": 3}
    server.script = anthropic_answer("Hel", "lo.", usage=usage)
    events = collect_events(anthropic_config(server))
    assert join_text(events) == "Hello."
    used = find_end(events).usage
    assert (used.input_tokens, used.cached_tokens, used.cache_write_tokens, used.output_tokens) == (12, 6, 2, 3)


def test_anthropic_marks_the_end_of_the_stable_prefix_and_the_history_boundary(server: ModelServer) -> None:
    server.script = anthropic_answer("Yes.")
    rules = "You are a writer who keeps to the rules. " * 20 + "\n\n"
    messages = (
        PromptMessage("system", f"{rules}Found today.", stable=len(rules)),
        PromptMessage("user", "First."),
        PromptMessage("assistant", "Second."),
        PromptMessage("user", "Third."),
    )
    collect_events(anthropic_config(server), ModelCall(model="c", messages=messages, max_tokens=9))
    request = server.exchanges[0].request
    assert request["system"][0] == {"type": "text", "text": rules, "cache_control": {"type": "ephemeral"}}
    assert "".join(block["text"] for block in request["system"]) == f"{rules}Found today."
    assert [turn["role"] for turn in request["messages"]] == ["user", "assistant", "user"]
    assert "cache_control" in request["messages"][1]["content"][-1]
    assert "cache_control" not in request["messages"][2]["content"][-1]


@pytest.mark.parametrize(
    ("script", "code"),
    [
        (error_answer(401), Code.LLM_REFUSED),
        (error_answer(403), Code.LLM_REFUSED),
        (error_answer(404), Code.LLM_REFUSED),
        (error_answer(422), Code.LLM_REFUSED),
        (error_answer(400, "This model's maximum context length is 8192 tokens"), Code.LLM_TOO_LONG),
        (error_answer(413), Code.LLM_TOO_LONG),
        (error_answer(400, "The response was filtered: content_filter"), Code.LLM_FILTERED),
        (error_answer(302, location="http://127.0.0.1:1/"), Code.LLM_REFUSED),
    ],
)
@pytest.mark.parametrize("style", ["openai", "anthropic"])
def test_each_refusal_has_its_code_and_is_not_retried(
    server: ModelServer, script: Script, code: Code, style: str
) -> None:
    server.script = script
    error, _ = expect_error(openai_config(server) if style == "openai" else anthropic_config(server))
    assert error.code is code
    assert len(server.exchanges) == 1


@pytest.mark.parametrize(
    ("status", "code"),
    [(429, Code.LLM_RATE_LIMITED), (500, Code.LLM_GONE), (503, Code.LLM_GONE), (504, Code.LLM_TIMEOUT)],
)
@pytest.mark.parametrize("style", ["openai", "anthropic"])
def test_a_retryable_error_is_retried_and_then_reported(
    server: ModelServer, status: int, code: Code, style: str
) -> None:
    server.script = error_answer(status)
    error, _ = expect_error(openai_config(server) if style == "openai" else anthropic_config(server))
    assert error.code is code
    assert len(server.exchanges) == QUICK_POLICY.max_attempts


def test_a_second_attempt_may_succeed(server: ModelServer) -> None:
    async def script(exchange: Exchange) -> None:
        await (error_answer(429, retry_after="0.01") if len(server.exchanges) == 1 else openai_answer("Now."))(exchange)

    server.script = script
    assert join_text(collect_events(openai_config(server))) == "Now."
    assert len(server.exchanges) == 2


@pytest.mark.parametrize("style", ["openai", "anthropic"])
@pytest.mark.parametrize("headers", [{"retry_after": "0.3"}, {"retry_after_ms": "300"}])
def test_the_delay_that_a_server_requests_is_kept(server: ModelServer, style: str, headers: dict[str, str]) -> None:
    at: list[float] = []

    async def script(exchange: Exchange) -> None:
        at.append(time.monotonic())
        good = openai_answer("Now.") if style == "openai" else anthropic_answer("Now.")
        await (error_answer(429, **headers) if len(at) == 1 else good)(exchange)

    server.script = script
    assert join_text(collect_events(config_for(server, style))) == "Now."
    assert at[1] - at[0] >= 0.3


@pytest.mark.parametrize(
    "script",
    [
        error_answer(429, retry_after="3600"),
        error_answer(503, retry_after="Wed, 21 Oct 2199 07:28:00 GMT"),
        error_answer(429, "You exceeded your current quota (insufficient_quota)"),
        error_answer(400, "Your credit balance is too low"),
    ],
)
def test_long_delays_and_billing_errors_are_not_retried(server: ModelServer, script: Script) -> None:
    server.script = script
    assert expect_error(openai_config(server))[0].code in (Code.LLM_RATE_LIMITED, Code.LLM_GONE)
    assert len(server.exchanges) == 1


def test_a_server_that_is_down_has_its_code(server: ModelServer) -> None:
    config = ProviderConfig(
        name="there", base_url="http://127.0.0.1:9/v1", key_variable="TEST_KEY", retry_policy=QUICK_POLICY
    )
    assert expect_error(config)[0].code is Code.LLM_GONE


def test_a_missing_key_is_reported_before_anything_is_sent(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", " ")
    assert expect_error(openai_config(server))[0].code is Code.LLM_NO_KEY
    assert not server.exchanges


@pytest.mark.parametrize("style", ["openai", "anthropic"])
def test_closing_the_stream_stops_the_request(server: ModelServer, style: str) -> None:
    async def script(exchange: Exchange) -> None:
        await start_answer(exchange, style, "word ")
        while True:
            await send_chunk(exchange, style, "word ")
            await asyncio.sleep(0.01)

    server.script = script
    config = openai_config(server) if style == "openai" else anthropic_config(server)

    async def run() -> None:
        provider: Provider = make_provider(config)
        events = stream_answer(provider, CALL, retry_policy=QUICK_POLICY)
        await anext(events)
        await events.aclose()
        await provider.aclose()

    asyncio.run(run())
    assert server.client_left.wait(5)


def test_a_cancelled_task_stops_the_request_too(server: ModelServer) -> None:
    async def silent(exchange: Exchange) -> None:
        await start_answer(exchange, "openai", "So far")
        await asyncio.sleep(30)

    server.script = silent

    async def run() -> None:
        provider = make_provider(openai_config(server))

        async def listen() -> None:
            async for _ in stream_answer(provider, CALL, retry_policy=QUICK_POLICY):
                pass

        task = asyncio.create_task(listen())
        while not server.exchanges:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await provider.aclose()

    start = time.monotonic()
    asyncio.run(run())
    assert server.client_left.wait(5)
    assert time.monotonic() - start < 25


def test_two_hundred_streams_at_once_lose_nothing(server: ModelServer) -> None:
    pieces = [f"{number} " for number in range(40)]

    async def script(exchange: Exchange) -> None:
        await exchange.send_head()
        for piece in pieces:
            await exchange.send_event(chunk(piece))
            await asyncio.sleep(0)
        await exchange.send_event(chunk(why="stop"))
        await exchange.send_event("[DONE]")

    server.script = script

    async def run() -> list[str]:
        provider = make_provider(openai_config(server))

        async def one() -> str:
            return join_text([event async for event in stream_answer(provider, CALL, retry_policy=RetryPolicy())])

        try:
            return await asyncio.gather(*(one() for _ in range(200)))
        finally:
            await provider.aclose()

    assert set(asyncio.run(run())) == {"".join(pieces)}


SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


def test_a_server_that_supports_schemas_gets_one(server: ModelServer) -> None:
    server.script = openai_answer('{"ok": true}')
    collect_events(openai_config(server), ModelCall(model="m", messages=CALL.messages, schema=SCHEMA))
    assert server.exchanges[0].request["response_format"]["json_schema"]["schema"] == SCHEMA
    assert server.exchanges[0].request["messages"] == [{"role": "user", "content": "Go on."}]


@pytest.mark.parametrize("style", ["openai", "anthropic"])
def test_other_servers_get_the_schema_at_the_end_of_the_prompt(server: ModelServer, style: str) -> None:
    server.script = openai_answer("{}") if style == "openai" else anthropic_answer("{}")
    config = replace(config_for(server, style), supports_schema=False)
    collect_events(config)
    collect_events(config, ModelCall(model="m", messages=CALL.messages, schema=SCHEMA, max_tokens=50))
    plain, shaped = (exchange.request for exchange in server.exchanges)
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
def test_a_parameter_that_a_server_rejects_is_left_out_from_then_on(
    server: ModelServer, message: str, name: str
) -> None:
    async def script(exchange: Exchange) -> None:
        await (error_answer(400, message) if name in exchange.request else openai_answer("Yes."))(exchange)

    server.script = script
    call = ModelCall(model="m", messages=CALL.messages, temperature=0.8, stop=("END",), schema=SCHEMA)

    async def run() -> None:
        provider = make_provider(openai_config(server))
        for _ in range(2):
            assert (
                join_text([event async for event in stream_answer(provider, call, retry_policy=QUICK_POLICY)]) == "Yes."
            )
        await provider.aclose()

    asyncio.run(run())
    assert [name in exchange.request for exchange in server.exchanges] == [True, False, False]
    assert ("max_completion_tokens" in server.exchanges[1].request) == (name == "max_tokens")
    assert ("boolean" in str(server.exchanges[1].request["messages"])) == (name == "response_format")


def test_an_error_that_only_mentions_a_parameter_is_a_refusal(server: ModelServer) -> None:
    server.script = error_answer(400, "max_tokens is too large: 50. This model gives at most 10.")
    assert expect_error(openai_config(server))[0].code is Code.LLM_REFUSED
    assert len(server.exchanges) == 1


def test_anthropic_gets_only_parameters_it_accepts(server: ModelServer) -> None:
    server.script = anthropic_answer("Yes.")
    messages = (PromptMessage("user", "Go on."), PromptMessage("assistant", "I went on \n"))
    collect_events(
        anthropic_config(server),
        ModelCall(model="c", messages=messages, temperature=1.4, top_p=0.9, stop=("\n", "THE END")),
    )
    request = server.exchanges[0].request
    assert request["temperature"] == 1.0
    assert "top_p" not in request
    assert request["stop_sequences"] == ["THE END"]
    assert request["messages"][-1]["content"][-1]["text"] == "I went on"


def test_deepseek_reports_cached_tokens_under_another_name(server: ModelServer) -> None:
    usage = {"prompt_tokens": 14, "completion_tokens": 3, "total_tokens": 17, "prompt_cache_hit_tokens": 6}
    server.script = openai_answer("Yes.", usage=usage)
    assert find_end(collect_events(openai_config(server))).usage.cached_tokens == 6


def test_one_provider_serves_several_event_loops(server: ModelServer) -> None:
    provider = make_provider(openai_config(server))

    async def run() -> str:
        return join_text([event async for event in stream_answer(provider, CALL, retry_policy=QUICK_POLICY)])

    assert [asyncio.run(run()) for _ in range(3)] == ["Hello."] * 3


def test_a_missing_key_may_be_added_later(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:

    async def run() -> str:
        provider = make_provider(openai_config(server))
        monkeypatch.delenv("TEST_KEY")
        with pytest.raises(FabulaError):
            await anext(stream_answer(provider, CALL, retry_policy=QUICK_POLICY))
        monkeypatch.setenv("TEST_KEY", "sk-late")
        text = join_text([event async for event in stream_answer(provider, CALL, retry_policy=QUICK_POLICY)])
        await provider.aclose()
        return text

    assert asyncio.run(run()) == "Hello."
