"""What travels between Fabula and a model: a call, what streams back, and what it cost.

A provider turns a call into events: pieces of text as they come, then one ending. Whoever listens may stop
listening at any time, and that stops the request. What has come is the listener's; nothing is taken back.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Struct

from fabula.context.render import Message

Why = Literal["stop", "length", "filtered", "handed_over"]


class Call(Struct, frozen=True, kw_only=True):
    """One request to a model: the messages as assembled, and how it is to answer."""

    model: str
    messages: tuple[Message, ...]
    max_tokens: int = 1024
    temperature: float | None = None
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    schema: Mapping[str, Any] | None = None  # a JSON schema, where the answer must have a shape
    input_tokens: int | None = None  # as we counted them, to check what the provider says

    @property
    def most_characters(self) -> int:
        """More than this no honest answer of so many tokens has."""
        return 2_000 + 24 * self.max_tokens


class Usage(Struct, frozen=True, kw_only=True):
    """What a call used. `told` when the provider said so and it made sense; our own count otherwise."""

    input_tokens: int = 0  # all of them, cached ones included
    cached_tokens: int = 0  # read from the provider's cache
    written_tokens: int = 0  # written to it, where that has a price of its own
    output_tokens: int = 0
    told: bool = True


class Text(Struct, frozen=True, gc=False):
    """A piece of the answer."""

    text: str


class Ended(Struct, frozen=True, kw_only=True):
    """The end of an answer: why it ended, and what it used."""

    why: Why = "stop"
    usage: Usage = Usage(told=False)


Event = Text | Ended


def in_words(schema: Mapping[str, Any]) -> str:
    """A schema told at the end of a prompt, so that the prompt's beginning stays what it is for every skill."""
    shape = msgspec.json.encode(schema, order="deterministic").decode()
    return f"Answer with one JSON object of this JSON schema and nothing else:\n{shape}"


class Provider(Protocol):
    """Somebody who answers calls."""

    @property
    def name(self) -> str: ...

    def stream(self, call: Call) -> AsyncGenerator[Event, None]:
        """The answer, piece by piece; closing it stops the request. Failures are coded."""
        ...

    async def aclose(self) -> None:
        """Let go of connections."""
        ...
