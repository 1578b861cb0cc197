"""Model calls with retries, timeouts and bounds: streams an answer, or fetches it whole.

A call is attempted again while no text has arrived and another attempt can help; once text has arrived it is never
repeated or taken back. Reasoning chunks reset the silence timeout. An answer that exceeds any plausible length is cut
off with an error, and implausible token counts of the provider are replaced by an estimate. Whatever a provider raises
becomes a FabulaError, and so does a stream without an end, so that a provider of a program's own ends one answer only.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing

from msgspec import Struct
from msgspec.structs import replace

from fabula.context.gather import describe_failure
from fabula.core.errors import FabulaError
from fabula.core.messages import message
from fabula.core.tracing import record_span
from fabula.llm.model import (
    HANDED_OVER,
    FinishReason,
    ModelCall,
    Provider,
    StreamEnd,
    StreamEvent,
    TextChunk,
    Usage,
)
from fabula.llm.provider_config import DEFAULT_RETRY_POLICY, RetryPolicy
from fabula.llm.provider_errors import (
    STOPPED,
    TIMED_OUT,
    invalid_answer_error,
    is_retryable,
    make_error,
    requested_delay,
    translate_error,
)
from fabula.text.tokens.tokenizer import Tokenizer

log = logging.getLogger("fabula.llm")

_MAX_FACTOR = 4  # a reported count may differ from ours by this factor,
_TOLERANCE = 1000  # and by so many tokens
_MAX_TOKEN_CHARACTERS = 24  # on average over an answer


class ModelResponse(Struct, frozen=True):
    """A whole answer, why it ended and what it used."""

    text: str
    finish_reason: FinishReason
    usage: Usage


async def fetch_response(
    provider: Provider,
    call: ModelCall,
    *,
    retry_policy: RetryPolicy = DEFAULT_RETRY_POLICY,
    tokenizer: Tokenizer | None = None,
) -> ModelResponse:
    """Fetch a whole answer; raises what `stream_answer` raises."""
    chunks: list[str] = []
    end = StreamEnd()
    async with aclosing(stream_answer(provider, call, retry_policy=retry_policy, tokenizer=tokenizer)) as events:
        async for event in events:
            if isinstance(event, StreamEnd):
                end = event
            else:
                chunks.append(event.text)
    return ModelResponse("".join(chunks), end.finish_reason, end.usage)


async def stream_answer(
    provider: Provider,
    call: ModelCall,
    *,
    retry_policy: RetryPolicy = DEFAULT_RETRY_POLICY,
    tokenizer: Tokenizer | None = None,
) -> AsyncGenerator[StreamEvent, None]:
    """Stream the answer to a call: text chunks, then the end. Closing the generator stops the request."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + retry_policy.total_seconds
    for attempt in range(1, max(retry_policy.max_attempts, 1) + 1):
        has_started = False
        try:
            with record_span("model call", is_current=False, attempt=attempt) as notes:
                async with aclosing(_stream_once(provider, call, retry_policy, deadline, tokenizer)) as events:
                    async for event in events:
                        has_started = True
                        if isinstance(event, StreamEnd):
                            notes.add("gen_ai.usage.input_tokens", event.usage.input_tokens)
                            notes.add("gen_ai.usage.output_tokens", event.usage.output_tokens)
                        yield event
            return
        except FabulaError as error:
            if has_started or not is_retryable(error) or attempt >= retry_policy.max_attempts:
                raise
            delay = requested_delay(error)
            if delay is None:
                delay = retry_policy.first_delay * 2 ** (attempt - 1) * (1 + random.random() / 4)
            if clock() + delay >= deadline:
                raise
            await asyncio.sleep(delay)


def estimate_usage(call: ModelCall, answer: str, tokenizer: Tokenizer | None = None) -> Usage:
    """Count a call's tokens ourselves, where the provider reported nothing or nothing plausible."""
    output = tokenizer.count(answer) if tokenizer is not None else len(answer.encode(errors="replace")) // 3
    return Usage(input_tokens=call.input_tokens or 0, output_tokens=output, reported_by_provider=False)


async def _stream_once(
    provider: Provider, call: ModelCall, retry_policy: RetryPolicy, deadline: float, tokenizer: Tokenizer | None
) -> AsyncGenerator[StreamEvent, None]:
    clock = asyncio.get_running_loop().time
    chunks: list[str] = []
    length = 0
    surrogate = ""  # the first half of a character whose second half is in the next chunk
    async with aclosing(provider.stream(call)) as events:
        while True:
            try:
                async with asyncio.timeout_at(min(clock() + retry_policy.silence_seconds, deadline)):
                    event = await anext(events)
            except StopAsyncIteration:
                raise make_error(STOPPED, provider.name) from None
            except FabulaError:
                raise
            except TimeoutError as error:
                raise make_error(TIMED_OUT, provider.name) from error
            except Exception as error:
                log.warning("provider %s failed: %s", provider.name, describe_failure(error))
                raise translate_error(error, provider.name) from error
            if isinstance(event, StreamEnd):
                if surrogate:
                    yield TextChunk("\N{REPLACEMENT CHARACTER}")
                if event.finish_reason not in HANDED_OVER:  # then no model read or wrote anything
                    event = replace(event, usage=_verify_usage(event.usage, call, "".join(chunks), tokenizer))
                yield event
                return
            if not isinstance(event, TextChunk):
                raise invalid_answer_error(provider.name)
            text, surrogate = _join_surrogates(surrogate + event.text)
            if text or event.tool_calls:
                chunks.append(text)
                length += len(text) + sum(len(str(call)) for call in event.tool_calls)
                yield TextChunk(text, event.tool_calls)
            if length > call.max_answer_characters:
                raise invalid_answer_error(provider.name, message("more text than was asked for, and did not stop"))


def _verify_usage(usage: Usage, call: ModelCall, answer: str, tokenizer: Tokenizer | None) -> Usage:
    """The reported usage where it is plausible, else an estimate."""
    counts = (usage.input_tokens, usage.cached_tokens, usage.cache_write_tokens, usage.output_tokens)
    # Reasoning is used and not seen, but never exceeds what the call allows.
    max_output = max(_MAX_FACTOR * len(answer), call.max_tokens) + _TOLERANCE
    low, high = sorted((usage.input_tokens, call.input_tokens or 0))
    is_near = high <= _MAX_FACTOR * low + _TOLERANCE
    is_plausible = (
        usage.reported_by_provider
        and min(counts) >= 0
        and usage.cached_tokens + usage.cache_write_tokens <= usage.input_tokens
        and (not call.input_tokens or is_near)
        and usage.output_tokens <= max_output
        and len(answer) <= _MAX_TOKEN_CHARACTERS * usage.output_tokens + _TOLERANCE
    )
    return usage if is_plausible else estimate_usage(call, answer, tokenizer)


def _join_surrogates(text: str) -> tuple[str, str]:
    """A text with its surrogate pairs joined, and the high surrogate at its end, if it has one."""
    if text.isascii():
        return text, ""
    surrogate = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
    body = text[: len(text) - len(surrogate)]
    return body.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"), surrogate
