"""The demo writes prepared sentences in the story's language, costs nothing and never works unasked."""

from __future__ import annotations

import asyncio

from fabula.context.render import PromptMessage
from fabula.llm.model import ModelCall, StreamEnd, TextChunk
from fabula.llm.provider_config import BUILT_IN_PROVIDERS
from fabula.llm.providers import make_provider
from fabula.llm.providers.demo import DEMO_MODEL


def read_answer(prompt: str, language: str) -> tuple[str, list[object]]:
    provider = make_provider(BUILT_IN_PROVIDERS["demo"])
    message = PromptMessage(role="user", content=prompt)
    call = ModelCall(model=DEMO_MODEL, messages=(message,), language="zh" if language == "zh" else "en")

    async def collect() -> list[object]:
        return [event async for event in provider.stream(call)]

    events = asyncio.run(collect())
    return "".join(one.text for one in events if isinstance(one, TextChunk)), events


def test_the_demo_streams_whole_sentences_in_the_storys_language() -> None:
    english, events = read_answer("a", "en")
    assert english.endswith(".")
    assert len(events) > 10
    assert isinstance(events[-1], StreamEnd)
    chinese, _ = read_answer("a", "zh")
    assert chinese.endswith("。")


def test_the_same_prompt_gets_another_answer_when_it_is_tried_again() -> None:
    assert read_answer("a", "en")[0] != read_answer("a", "en")[0]
