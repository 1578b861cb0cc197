"""The local provider with the bundled model."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from fabula.context.render import PromptMessage
from fabula.core.errors import Code, FabulaError
from fabula.llm.model import HANDED_OVER, ModelCall, Provider, StreamEnd, StreamEvent, TextChunk
from fabula.llm.providers.clipboard import ClipboardProvider
from fabula.llm.providers.local import MODEL_FILE_VARIABLE, WINDOW_VARIABLE, LocalProvider, find_model_file
from fabula.llm.retry import stream_answer

CALL = ModelCall(
    model="smollm2", messages=(PromptMessage("user", "Say something about the sea."),), max_tokens=24, temperature=0
)


def answered(provider: Provider, call: ModelCall = CALL) -> list[StreamEvent]:
    async def run() -> list[StreamEvent]:
        return [event async for event in stream_answer(provider, call)]

    return asyncio.run(run())


@pytest.fixture(scope="module")
def local() -> LocalProvider:
    return LocalProvider(window=2048)


def test_the_bundled_model_answers_and_reports_usage(local: LocalProvider) -> None:
    events = answered(local)
    ended = events[-1]
    assert isinstance(ended, StreamEnd)
    assert sum(len(event.text) for event in events if isinstance(event, TextChunk)) > 20
    assert ended.usage.reported_by_provider
    assert 0 < ended.usage.output_tokens <= 24
    assert ended.usage.input_tokens > 5


def test_closing_the_stream_stops_generation(local: LocalProvider) -> None:
    async def run() -> None:
        events = stream_answer(local, ModelCall(model="smollm2", messages=CALL.messages, max_tokens=2000))
        await anext(events)
        await events.aclose()
        # The next answer does not have to wait for two thousand tokens.
        assert [event async for event in stream_answer(local, CALL)]

    asyncio.run(asyncio.wait_for(run(), 60))


def test_closing_the_stream_stops_reading_the_prompt(local: LocalProvider) -> None:
    async def run() -> None:
        long = ModelCall(model="smollm2", messages=(PromptMessage("user", "A word of the sea. " * 300),), max_tokens=5)
        events = local.stream(long)
        assert await anext(events) == TextChunk("")  # it has begun to read
        await events.aclose()
        assert [event async for event in stream_answer(local, CALL)]

    asyncio.run(asyncio.wait_for(run(), 120))


def test_the_model_and_its_prompt_cache_stay_loaded(local: LocalProvider) -> None:
    async def run() -> None:
        assert [event async for event in stream_answer(local, CALL)]
        await local.aclose()
        last = [event async for event in stream_answer(LocalProvider(window=2048), CALL)][-1]
        assert isinstance(last, StreamEnd)
        assert last.usage.cached_tokens >= last.usage.input_tokens - 1

    asyncio.run(run())


_STOPPED = """
import asyncio, sys
from fabula.context.render import PromptMessage
from fabula.llm.model import ModelCall
from fabula.llm.providers.local import LocalProvider

async def run():
    call = ModelCall(model="smollm2", messages=(PromptMessage("user", "Tell me of the sea."),), max_tokens=2000)
    async for event in LocalProvider(window=2048).stream(call):
        if event.text:
            raise KeyboardInterrupt

try:
    asyncio.run(run())
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize("attempt", range(3))
def test_control_c_while_the_local_model_streams_ends_the_process_cleanly(attempt: int) -> None:
    done = subprocess.run([sys.executable, "-c", _STOPPED], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, "FATAL" in done.stderr) == (130, False)


@pytest.mark.parametrize("wrong", ["many", "-5", "3"])
def test_an_invalid_window_is_refused(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WINDOW_VARIABLE, wrong)
    with pytest.raises(FabulaError) as refusal:
        answered(LocalProvider())
    assert refusal.value.code is Code.SETTING_INVALID


def test_a_prompt_that_is_too_long_is_refused(local: LocalProvider) -> None:
    long = ModelCall(model="smollm2", messages=(PromptMessage("user", "word " * 5000),))
    with pytest.raises(FabulaError) as refusal:
        answered(local, long)
    assert refusal.value.code is Code.LLM_TOO_LONG


def test_a_file_that_is_not_a_model_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = tmp_path / "wrong.gguf"
    wrong.write_bytes(b"not a model")
    monkeypatch.setenv(MODEL_FILE_VARIABLE, str(wrong))
    assert find_model_file() == wrong
    with pytest.raises(FabulaError) as refusal:
        answered(LocalProvider())
    assert refusal.value.code is Code.LLM_NOT_INSTALLED
    monkeypatch.setenv(MODEL_FILE_VARIABLE, str(tmp_path / "nothing.gguf"))
    with pytest.raises(FabulaError) as refusal:
        answered(LocalProvider())
    assert refusal.value.code is Code.LLM_NOT_INSTALLED


def test_the_clipboard_provider_answers_with_the_prompt() -> None:
    messages = (PromptMessage("system", "Rules."), PromptMessage("user", "Write."))
    events = answered(ClipboardProvider(), ModelCall(model="any", messages=messages))
    assert events[0] == TextChunk("Rules.\n\nWrite.")
    assert isinstance(events[1], StreamEnd)
    assert events[1].finish_reason in HANDED_OVER
