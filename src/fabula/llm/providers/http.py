"""The way out to a provider: which addresses may be reached, what goes along, and how much may come back.

Places where no model lives are refused on the very address that is connected to, so that a name that changes its mind
in between gains nothing; through a proxy, which looks names up by itself, on what can be known from here. Redirects
are not followed. Only headers that a call needs leave the house, whatever the clients find in the environment. A line
of a stream and a whole answer have a bound, and come unpacked: nobody fills our memory with an endless line, or with
a small one that unfolds.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from functools import lru_cache
from urllib.parse import urlsplit

import httpcore2
import httpx2

from fabula.core.errors import Code, FabulaError
from fabula.llm.provider_config import Place
from fabula.llm.provider_errors import nonsense
from fabula.net.addresses import Address, found, spelled, wrong_with, wrong_with_name, wrong_with_url
from fabula.net.proxies import ENVIRONMENT, proxy_for, wrong_with_proxy

LONGEST_LINE = 2_000_000  # bytes
LONGEST_ANSWER = 64_000_000
LOOK_UP = 3.0  # seconds for a name that a proxy may know and we do not
_NEEDED = frozenset(
    {b"host", b"accept", b"content-type", b"content-length", b"transfer-encoding", b"connection", b"user-agent"}
    | {b"authorization", b"x-api-key", b"anthropic-version", b"anthropic-beta"}
)
_OPENAI = "api.openai.com"
_OPENAI_ALONE = frozenset({b"openai-organization", b"openai-project"})


def client(place: Place, *, keyed: bool, connections: int = 256) -> httpx2.AsyncClient:
    """A client for a place that goes through the guarded way, and follows nobody elsewhere."""
    _refuse(wrong_with_url(place.base_url))
    try:
        httpx2.URL(place.base_url)
    except httpx2.InvalidURL:
        _refuse("holds a host that is neither a name nor a number")
    for name in ("anthropic", "openai"):  # what these say while they look for faults repeats the prompt
        logging.getLogger(name).setLevel(logging.INFO)
    patience = place.patience
    return httpx2.AsyncClient(
        transport=_Transport(place, keyed=keyed, connections=connections),
        timeout=httpx2.Timeout(patience.silence_seconds, connect=patience.connect_seconds),
        follow_redirects=False,
        trust_env=False,
    )


class _Guard:
    """What is looked at before a connection is made."""

    def __init__(self, place: Place, *, keyed: bool) -> None:
        self._any = place.allow_any_address
        self._clear_key = keyed and urlsplit(place.base_url).scheme == "http"

    async def addresses(self, host: str, port: int, seconds: float | None) -> list[Address]:
        """Where a host leads, every address of it looked at; OSError where it leads nowhere."""
        if not self._any:
            _refuse(wrong_with_name(host))
        literal = spelled(host)
        if literal is not None:
            addresses = [literal]
        else:
            looking = asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
            addresses = found(await asyncio.wait_for(looking, seconds))
        for address in addresses:
            if not self._any:
                _refuse(wrong_with(address, clear_key=self._clear_key))
        return addresses


class _Careful(httpcore2.AsyncNetworkBackend):
    """Looks a name up itself, looks at what it got, and connects to just that."""

    def __init__(self, guard: _Guard) -> None:
        self._guard = guard
        self._inner = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first address that answers."""
        try:
            addresses = await self._guard.addresses(host, port, timeout)
        except (TimeoutError, OSError, ValueError) as error:
            raise httpcore2.ConnectError("the name cannot be looked up") from error
        failure: Exception = httpcore2.ConnectError("the name has no address")
        for address in addresses:
            try:
                return await self._inner.connect_tcp(str(address), port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._inner.sleep(seconds)


class _Transport(httpx2.AsyncHTTPTransport):
    """The usual transport, guarded, with a bound on what comes back."""

    def __init__(self, place: Place, *, keyed: bool, connections: int) -> None:
        limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=20)
        proxy = _proxy(place)
        try:
            super().__init__(verify=tls(), limits=limits, proxy=proxy)
        except ImportError as error:
            raise FabulaError(
                Code.LLM_NOT_INSTALLED, f"The proxy before {place.name} speaks SOCKS: pip install socksio."
            ) from error
        self._provider = place.name
        self._guard = _Guard(place, keyed=keyed)
        self._ask_first = proxy is not None
        self._known = _NEEDED | _OPENAI_ALONE if urlsplit(place.base_url).hostname == _OPENAI else _NEEDED
        if proxy is None:
            self._pool._network_backend = _Careful(self._guard)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send what is needed; bound the answer."""
        if self._ask_first:
            await self._before_the_proxy(request.url)
        kept = [(name, value) for name, value in request.headers.raw if name.lower() in self._known]
        request.headers = httpx2.Headers([*kept, (b"Accept-Encoding", b"identity")])
        response = await super().handle_async_request(request)
        kind = response.headers.get("content-type", "").lower()
        packed = response.headers.get("content-encoding", "identity").lower() not in ("", "identity")
        if packed or (response.status_code < 400 and kind.startswith(("text/html", "image/", "application/pdf"))):
            await response.aclose()
            raise nonsense(self._provider, "a packed answer" if packed else f"a page of the kind {kind.split(';')[0]}")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Bounded(response.stream, self._provider)
        return response

    async def _before_the_proxy(self, url: httpx2.URL) -> None:
        """Once for each client: what the name leads to from here. A name that only the proxy knows is let pass."""
        with suppress(TimeoutError, OSError, ValueError):
            await self._guard.addresses(url.raw_host.decode("ascii"), url.port or 443, LOOK_UP)
        self._ask_first = False


class _Bounded(httpx2.AsyncByteStream):
    """A body that may be neither too long nor one endless line."""

    def __init__(self, body: httpx2.AsyncByteStream, provider: str) -> None:
        self._body = body
        self._provider = provider

    async def __aiter__(self) -> AsyncIterator[bytes]:
        line = total = 0
        async for part in self._body:
            total += len(part)
            last = part.rfind(b"\n")
            line = line + len(part) if last < 0 else len(part) - last - 1
            if line > LONGEST_LINE or total > LONGEST_ANSWER:
                raise nonsense(self._provider, "more than an answer can be")
            yield part

    async def aclose(self) -> None:
        """Let go of the connection."""
        await self._body.aclose()


@lru_cache(maxsize=1)
def tls() -> ssl.SSLContext:
    """What certificates are believed; reading them takes longer than a request, so it is done once."""
    return httpx2.create_ssl_context()


def _proxy(place: Place) -> str | None:
    proxy = proxy_for(place.base_url, place.proxy)
    wrong = wrong_with_proxy(proxy, named=place.proxy != ENVIRONMENT) if proxy is not None else ""
    if wrong:
        raise FabulaError(Code.LLM_ADDRESS_REFUSED, f"The address of the proxy before {place.name} {wrong}.")
    return proxy


def _refuse(wrong: str) -> None:
    if wrong:
        raise FabulaError(
            Code.LLM_ADDRESS_REFUSED,
            f"The address of this provider {wrong}. Nothing was sent. If you mean just that address, set "
            "`allow_any_address` for this provider.",
        )
