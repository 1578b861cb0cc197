"""The way out to a provider: which addresses may be reached, and how much one may send us.

A base URL can come from a settings file somebody else wrote. Link-local addresses (where clouds keep their
keys) and other places no model lives are refused after the name was looked up, on the very address that is
connected to, so that a name that changes its mind in between gains nothing. Redirects are not followed. A
line of a stream, and a whole answer, have a bound: nobody fills our memory by never ending a line.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator, Iterable
from urllib.parse import urlsplit

import httpcore2
import httpx2

from fabula.core.errors import Code, FabulaError
from fabula.llm.faults import nonsense
from fabula.llm.places import Place

LONGEST_LINE = 2_000_000  # bytes
LONGEST_ANSWER = 64_000_000
_METADATA = frozenset({ipaddress.ip_address("fd00:ec2::254"), ipaddress.ip_address("100.100.100.200")})


def check_url(url: str) -> None:
    """Refuse what cannot be a provider's address."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound:
        raise FabulaError(
            Code.LLM_ADDRESS_REFUSED,
            f"{url!r} is no address of a model. It begins with http:// or https:// and a host.",
        )
    if parts.username or parts.password:
        raise FabulaError(
            Code.LLM_ADDRESS_REFUSED, "The address holds a user name or password. Put the key into the environment."
        )


def check_address(address: str) -> None:
    """Refuse addresses that no model lives at and that must not be reached by accident."""
    found = ipaddress.ip_address(address.split("%")[0])
    mapped = getattr(found, "ipv4_mapped", None) or found
    if (
        mapped.is_link_local
        or mapped.is_multicast
        or mapped.is_unspecified
        or mapped.is_reserved
        or mapped in _METADATA
    ):
        raise FabulaError(
            Code.LLM_ADDRESS_REFUSED,
            f"{address} is an address inside this machine's network where no model lives (link-local or the like). "
            "Nothing was sent. If you mean it, set `allow_any_address` for this provider.",
        )


class _Careful(httpcore2.AsyncNetworkBackend):
    """Looks a name up itself, checks what it got, and connects to just that."""

    def __init__(self) -> None:
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
            found = await asyncio.wait_for(
                asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM), timeout
            )
        except (TimeoutError, OSError) as error:
            raise httpcore2.ConnectError(f"the name {host} cannot be looked up") from error
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        for address in addresses:
            check_address(address)
        failure: Exception = httpcore2.ConnectError(f"no address for {host}")
        for address in addresses:
            try:
                return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._inner.sleep(seconds)


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


class _Transport(httpx2.AsyncHTTPTransport):
    """The usual transport, with a bound on what comes back."""

    def __init__(self, provider: str, *, any_address: bool, connections: int) -> None:
        limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=20)
        super().__init__(limits=limits)
        self._provider = provider
        if not any_address:
            self._pool._network_backend = _Careful()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send it; bound the answer."""
        response = await super().handle_async_request(request)
        kind = response.headers.get("content-type", "").lower()
        if response.status_code < 400 and kind.startswith(("text/html", "image/", "application/pdf")):
            await response.aclose()
            raise nonsense(self._provider, f"a page of the kind {kind.split(';')[0]}")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Bounded(response.stream, self._provider)
        return response


def client(place: Place, *, connections: int = 256) -> httpx2.AsyncClient:
    """A client for a place that goes through the guarded way, and follows nobody elsewhere."""
    check_url(place.base_url)
    patience = place.patience
    return httpx2.AsyncClient(
        transport=_Transport(place.name, any_address=place.allow_any_address, connections=connections),
        timeout=httpx2.Timeout(patience.silence_seconds, connect=patience.connect_seconds),
        follow_redirects=False,
        trust_env=False,
    )
