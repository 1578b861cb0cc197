"""Base of the providers that use a vendor's SDK over HTTP: clients, streams and error translation.

`fabula.net.client` guards addresses and bounds answers; this module adds what providers need: the headers of the two
SDKs, bounds for streams, and a cache of clients. Making a client imports an SDK and may ask the system keyring, which
can take a second, so it happens once and in a thread. Connections belong to an event loop, so each loop gets its own
client.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any, Generic, Protocol, TypeVar
from urllib.parse import urlsplit

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import advise, message
from fabula.llm.model import FinishReason, ModelCall, StreamEnd, StreamEvent, TextChunk, Usage
from fabula.llm.provider_config import ProviderConfig, find_api_key
from fabula.llm.provider_errors import FILTERED, STOPPED, make_error, translate_error

MAX_LINE_BYTES = 2_000_000  # of a stream
MAX_ANSWER_BYTES = 64_000_000
_SDK_HEADERS = frozenset({b"x-api-key", b"anthropic-version", b"anthropic-beta"})
_OPENAI_HEADERS = frozenset({b"openai-organization", b"openai-project"})  # for OpenAI itself and nobody else


class Closeable(Protocol):
    """A client that holds connections."""

    async def close(self) -> None: ...


ClientT = TypeVar("ClientT", bound=Closeable)


class ClientCache(Generic[ClientT]):
    """A client that is made in a thread at first use and kept for as long as its event loop."""

    def __init__(self) -> None:
        self._pending: asyncio.Future[ClientT] | None = None

    async def get(self, make: Callable[[], ClientT]) -> ClientT:
        """The client of the running loop; a failure to make it is not cached."""
        pending = self._pending
        if pending is None or pending.get_loop() is not asyncio.get_running_loop() or _has_failed(pending):
            pending = self._pending = asyncio.ensure_future(asyncio.to_thread(make))
        return pending.result() if pending.done() else await asyncio.shield(pending)

    async def close(self) -> None:
        """Close the client, if the running loop made it."""
        pending, self._pending = self._pending, None
        if pending is not None and pending.get_loop() is asyncio.get_running_loop():
            client = (await asyncio.gather(pending, return_exceptions=True))[0]
            if not isinstance(client, BaseException):
                await client.close()


def _has_failed(pending: asyncio.Future[ClientT]) -> bool:
    return pending.done() and (pending.cancelled() or pending.exception() is not None)


class SdkProvider(ABC, Generic[ClientT]):
    """A provider on top of a vendor's SDK; subclasses build requests and read the events of a stream."""

    def __init__(self, config: ProviderConfig) -> None:
        self.name = config.name
        self._config = config
        self._client = ClientCache[ClientT]()

    async def stream(self, call: ModelCall) -> AsyncGenerator[StreamEvent, None]:
        """Stream the answer to a call."""
        usage, finish_reason = Usage(reported_by_provider=False), None
        try:
            answer = await self._start(await self._client.get(self._make_client), call)
            try:
                async for event in answer:
                    usage = self._read_usage(event, usage)
                    for chunk, reason in self._read_chunks(event):
                        yield chunk
                        finish_reason = reason or finish_reason
            finally:
                await answer.close()
        except FabulaError:
            raise
        except Exception as error:
            raise translate_error(error, self.name) from error
        if finish_reason in ("filtered", None):
            raise make_error(FILTERED if finish_reason else STOPPED, self.name)
        yield StreamEnd(finish_reason=finish_reason, usage=usage)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    @abstractmethod
    def _load_sdk(self) -> Callable[..., ClientT]:
        """Import the class of the client; ImportError where the SDK is not installed."""

    @abstractmethod
    async def _start(self, client: ClientT, call: ModelCall) -> Any:
        """Send a request and return the stream of its events."""

    @abstractmethod
    def _read_chunks(self, event: Any) -> Iterable[tuple[TextChunk, FinishReason | None]]:
        """The chunk and finish reason of an event. Reasoning has no text, but resets the silence timeout."""

    @abstractmethod
    def _read_usage(self, event: Any, usage: Usage) -> Usage:
        """The usage after an event."""

    def _make_client(self) -> ClientT:
        try:
            sdk = self._load_sdk()
        except ImportError as error:
            raise FabulaError(
                Code.LLM_NOT_INSTALLED,
                message(
                    "To use {provider}, install Fabula with its models: pip install 'fabula[models]'. {advice}",
                    provider=self.name,
                    advice=advise(
                        message("Without them, `--provider clipboard` hands you the prompt."),
                        message("Without them, the provider `clipboard` hands you the prompt."),
                    ),
                ),
            ) from error
        return sdk(**_make_arguments(self._config))


def _make_arguments(config: ProviderConfig) -> dict[str, Any]:
    """The arguments with which both SDKs make a client for this provider."""
    from fabula.net.client import STANDARD_HEADERS, HttpPolicy, make_client

    for name in ("anthropic", "openai"):  # their debug messages contain the prompt
        logging.getLogger(name).setLevel(logging.INFO)
    key = find_api_key(config)
    is_openai = urlsplit(config.base_url).hostname == "api.openai.com"
    policy = HttpPolicy(
        base_url=config.base_url,
        sends_key=bool(key),
        proxy=config.proxy,
        allow_any_address=config.allow_any_address,
        allowed_headers=STANDARD_HEADERS | _SDK_HEADERS | (_OPENAI_HEADERS if is_openai else frozenset()),
        connect_seconds=config.retry_policy.connect_seconds,
        read_seconds=config.retry_policy.silence_seconds,
        max_bytes=MAX_ANSWER_BYTES,
        max_line_bytes=MAX_LINE_BYTES,
    )
    try:
        client = make_client(policy)
    except ImportError as error:
        raise FabulaError(
            Code.LLM_NOT_INSTALLED,
            message("The proxy before {provider} speaks SOCKS. Run: pip install socksio", provider=config.name),
        ) from error
    # `retry.py` retries for all providers, so the SDKs do not.
    return {"api_key": key or "none", "base_url": config.base_url, "max_retries": 0, "http_client": client}
