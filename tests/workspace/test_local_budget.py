"""The budget of the bundled model: what it reads never exceeds what was planned, nor its window."""

from __future__ import annotations

import asyncio

import pytest

from fabula.llm.model import ModelCall, StreamEnd
from fabula.llm.provider_config import BUILT_IN_PROVIDERS
from fabula.llm.providers.local import BUNDLED_MODEL, LocalProvider
from fabula.workspace.read_only import open_read_only
from fabula.workspace.writing_options import DEFAULT_OPTIONS, ModelChoice, size_request

WINDOW = 2048


@pytest.mark.parametrize("sample", ["lantern_coast", "wugang"])
@pytest.mark.parametrize("model", [BUNDLED_MODEL, "my-model"])
def test_the_bundled_model_reads_no_more_than_was_planned(sample: str, model: str) -> None:
    project = open_read_only(f"sample:{sample}")
    choice = ModelChoice(BUILT_IN_PROVIDERS["local"], model, DEFAULT_OPTIONS)
    request = size_request(project.request(window=WINDOW, reply_tokens=64), choice)
    result = project.assemble(request)
    assert result.exact

    async def run() -> int:
        call = ModelCall(model=model, messages=tuple(result.rendered.messages), max_tokens=1, temperature=0)
        events = [event async for event in LocalProvider(window=WINDOW).stream(call)]
        ended = events[-1]
        assert isinstance(ended, StreamEnd)
        return ended.usage.input_tokens

    assert asyncio.run(run()) <= result.rendered.tokens <= WINDOW - 64
