"""Calls to a server on the loopback, and what comes of them."""

from __future__ import annotations

import asyncio

import pytest

from fabula.context.render import Message
from fabula.core.errors import FabulaError
from fabula.llm.model import Call, Ended, Event, Text
from fabula.llm.provider_config import Patience, Place
from fabula.llm.providers.factory import provider_at
from fabula.llm.retry import ask
from tests.llm.server import Server

QUICK = Patience(connect_seconds=2, silence_seconds=2, whole_seconds=20, tries=3, first_delay=0.01)
CALL = Call(model="m", messages=(Message("user", "Go on."),), max_tokens=50, input_tokens=12)


def place_at(server: Server, style: str) -> Place:
    """The server as a place that speaks so."""
    return openai_at(server) if style == "openai" else anthropic_at(server)


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
