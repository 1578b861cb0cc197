"""Asking a model: tries again what may work the next time, and keeps every answer within bounds.

Nothing is tried again once a piece of text has come: what the listener has is never taken back or doubled.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing

from msgspec.structs import replace

from fabula.core.errors import Code, FabulaError
from fabula.llm.model import Call, Ended, Event, Provider, Text, Usage
from fabula.llm.provider_config import USUAL, Patience
from fabula.llm.provider_errors import may_pass, nonsense, wait_asked
from fabula.text.tokens.tokenizer import Tokenizer

_FAR_OFF = 4  # times our own count: a figure further away than this is no count
_SLACK = 1000
_LONGEST_TOKEN = 24  # characters, on average over an answer


async def ask(
    provider: Provider, call: Call, *, patience: Patience = USUAL, tokenizer: Tokenizer | None = None
) -> AsyncGenerator[Event, None]:
    """The answer to a call, piece by piece, then its end. Closing it stops the request."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + patience.whole_seconds
    for attempt in range(1, max(patience.tries, 1) + 1):
        begun = False
        try:
            async with aclosing(_once(provider, call, patience, deadline, tokenizer)) as events:
                async for event in events:
                    begun = True
                    yield event
            return
        except FabulaError as error:
            if begun or not may_pass(error) or attempt >= patience.tries:
                raise
            delay = wait_asked(error)
            if delay is None:
                delay = patience.first_delay * 2 ** (attempt - 1) * (1 + random.random() / 4)
            if clock() + delay >= deadline:
                raise
            await asyncio.sleep(delay)


async def _once(
    provider: Provider, call: Call, patience: Patience, deadline: float, tokenizer: Tokenizer | None
) -> AsyncGenerator[Event, None]:
    clock = asyncio.get_running_loop().time
    said: list[str] = []
    length = 0
    half = ""  # the first half of a character whose second half is still to come
    async with aclosing(provider.stream(call)) as events:
        while True:
            try:
                async with asyncio.timeout_at(min(clock() + patience.silence_seconds, deadline)):
                    event = await anext(events)
            except StopAsyncIteration:
                return
            except TimeoutError as error:
                raise _late(provider.name) from error
            if isinstance(event, Ended):
                if half:
                    yield Text("�")
                yield replace(event, usage=_checked(event.usage, call, "".join(said), tokenizer))
                return
            text, half = _whole(half + event.text)
            if text:
                said.append(text)
                length += len(text)
                yield Text(text)
            if length > call.most_characters:
                raise nonsense(provider.name, "more text than was asked for, and did not stop")


def counted(call: Call, answer: str, tokenizer: Tokenizer | None = None) -> Usage:
    """What a call used by our own count; for answers whose provider said nothing, or nothing that can be true."""
    output = tokenizer.count(answer) if tokenizer is not None else len(answer.encode(errors="replace")) // 3
    return Usage(input_tokens=call.input_tokens or 0, output_tokens=output, told=False)


def _checked(told: Usage, call: Call, answer: str, tokenizer: Tokenizer | None) -> Usage:
    """The provider's figures where they can be true, ours where they cannot."""
    figures = (told.input_tokens, told.cached_tokens, told.written_tokens, told.output_tokens)
    sound = told.told and min(figures) >= 0 and told.cached_tokens + told.written_tokens <= told.input_tokens
    if sound and call.input_tokens:
        sound = _near(told.input_tokens, call.input_tokens)
    # What a model thinks is used and not seen, but never more than it was allowed.
    most = max(_FAR_OFF * len(answer), call.max_tokens) + _SLACK
    if sound and told.output_tokens <= most and len(answer) <= _LONGEST_TOKEN * told.output_tokens + _SLACK:
        return told
    return counted(call, answer, tokenizer)


def _near(one: int, other: int) -> bool:
    return one <= _FAR_OFF * other + _SLACK and other <= _FAR_OFF * one + _SLACK


def _whole(text: str) -> tuple[str, str]:
    """A text with its halves of characters joined, and the half at its end that may find its other half yet."""
    if text.isascii():
        return text, ""
    half = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
    body = text[: len(text) - len(half)]
    return body.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"), half


def _late(provider: str) -> FabulaError:
    return FabulaError(Code.LLM_TIMEOUT, f"{provider} fell silent. What came before is kept. Try again.")
