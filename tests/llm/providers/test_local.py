"""The model in this process: the real one that comes in a wheel."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fabula.context.render import Message
from fabula.core.errors import Code, FabulaError
from fabula.llm.model import Call, Ended, Event, Provider, Text
from fabula.llm.providers.clipboard import Clipboard
from fabula.llm.providers.local import MODEL_FILE, WINDOW_SIZE, Local, model_file
from fabula.llm.retry import ask

CALL = Call(model="smollm2", messages=(Message("user", "Say something about the sea."),), max_tokens=24, temperature=0)


def answered(provider: Provider, call: Call = CALL) -> list[Event]:
    async def run() -> list[Event]:
        return [event async for event in ask(provider, call)]

    return asyncio.run(run())


@pytest.fixture(scope="module")
def local() -> Local:
    return Local(window=2048)


def test_the_bundled_model_says_something_and_counts_it(local: Local) -> None:
    events = answered(local)
    ended = events[-1]
    assert isinstance(ended, Ended)
    assert sum(len(event.text) for event in events if isinstance(event, Text)) > 20
    assert ended.usage.told
    assert 0 < ended.usage.output_tokens <= 24
    assert ended.usage.input_tokens > 5


def test_who_stops_listening_stops_it(local: Local) -> None:
    async def run() -> None:
        events = ask(local, Call(model="smollm2", messages=CALL.messages, max_tokens=2000))
        await anext(events)
        await events.aclose()
        # The next answer does not have to wait for two thousand tokens.
        assert [event async for event in ask(local, CALL)]

    asyncio.run(asyncio.wait_for(run(), 60))


def test_who_stops_listening_while_it_reads_stops_it(local: Local) -> None:
    async def run() -> None:
        long = Call(model="smollm2", messages=(Message("user", "A word of the sea. " * 300),), max_tokens=5)
        events = local.stream(long)
        assert await anext(events) == Text("")  # it has begun to read
        await events.aclose()
        assert [event async for event in ask(local, CALL)]

    asyncio.run(asyncio.wait_for(run(), 120))


def test_it_stays_loaded_and_what_was_read_is_not_read_again(local: Local) -> None:
    async def run() -> None:
        assert [event async for event in ask(local, CALL)]
        await local.aclose()
        last = [event async for event in ask(Local(window=2048), CALL)][-1]
        assert isinstance(last, Ended)
        assert last.usage.cached_tokens >= last.usage.input_tokens - 1

    asyncio.run(run())


@pytest.mark.parametrize("wrong", ["many", "-5", "3"])
def test_a_window_that_is_none_is_refused(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WINDOW_SIZE, wrong)
    with pytest.raises(FabulaError) as refusal:
        answered(Local())
    assert refusal.value.code is Code.SETTING_INVALID


def test_a_prompt_that_is_too_long_says_so(local: Local) -> None:
    long = Call(model="smollm2", messages=(Message("user", "word " * 5000),))
    with pytest.raises(FabulaError) as refusal:
        answered(local, long)
    assert refusal.value.code is Code.LLM_TOO_LONG


def test_a_file_that_is_no_model_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = tmp_path / "wrong.gguf"
    wrong.write_bytes(b"not a model")
    monkeypatch.setenv(MODEL_FILE, str(wrong))
    assert model_file() == wrong
    with pytest.raises(FabulaError) as refusal:
        answered(Local())
    assert refusal.value.code is Code.LLM_NOT_INSTALLED
    monkeypatch.setenv(MODEL_FILE, str(tmp_path / "nothing.gguf"))
    with pytest.raises(FabulaError) as refusal:
        answered(Local())
    assert refusal.value.code is Code.LLM_NOT_INSTALLED


def test_the_clipboard_hands_the_prompt_over() -> None:
    messages = (Message("system", "Rules."), Message("user", "Write."))
    events = answered(Clipboard(), Call(model="any", messages=messages))
    assert events[0] == Text("Rules.\n\nWrite.")
    assert isinstance(events[1], Ended)
    assert events[1].why == "handed_over"
