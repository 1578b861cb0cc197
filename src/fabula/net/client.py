"""The HTTP client for all outbound requests: address guard, proxies, and bounds on answers.

Both the model providers and the embeddings endpoint use it.
- The client resolves a host itself, checks every resulting address and connects to one of those, so a DNS answer that
  changes between check and connection gains nothing. A proxy resolves names by itself: then the client checks what
  the name resolves to from here, and lets names pass that only the proxy knows.
- It follows no redirects and sends only allowed headers, whatever an SDK reads from the environment.
- It refuses compressed answers and web pages, and stops reading an answer or a line that is too long.

This module imports `httpx2` (about 0.1 s), so import it where a request is made.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from urllib.parse import urlsplit

import httpcore2
import httpx2
from msgspec import Struct

from fabula.core.messages import Sentence, message
from fabula.net.addresses import (
    Address,
    collect_addresses,
    find_address_problem,
    find_host_problem,
    find_url_problem,
    parse_address,
)
from fabula.net.errors import AddressRefusedError, AnswerRefusedError, ProxyRefusedError
from fabula.net.proxies import FROM_ENVIRONMENT, find_proxy, find_proxy_problem

LOOKUP_SECONDS = 3.0  # for a name that a proxy may know and this machine does not
STANDARD_HEADERS = frozenset(
    {b"host", b"accept", b"content-type", b"content-length", b"transfer-encoding", b"connection", b"user-agent"}
    | {b"authorization"}
)
_PAGE_TYPES = ("text/html", "image/", "application/pdf")


class HttpPolicy(Struct, frozen=True, kw_only=True):
    """What a client may reach, send and receive."""

    base_url: str
    max_bytes: int  # of one answer
    max_line_bytes: int | None = None  # of one line of a stream
    connect_seconds: float = 10.0
    read_seconds: float = 10.0  # between two parts of an answer
    sends_key: bool = False
    allow_any_address: bool = False
    allow_link_local: bool = False
    proxy: str = FROM_ENVIRONMENT
    allowed_headers: frozenset[bytes] = STANDARD_HEADERS
    max_connections: int = 256


def make_client(policy: HttpPolicy) -> httpx2.AsyncClient:
    """Make a client that obeys the policy.

    Raises AddressRefusedError or ProxyRefusedError, and ImportError where a SOCKS proxy needs the package socksio.
    """
    problem = find_url_problem(policy.base_url)
    if problem is not None:
        raise AddressRefusedError(problem)
    try:
        httpx2.URL(policy.base_url)
    except httpx2.InvalidURL as error:
        raise AddressRefusedError(message("contains a host that is neither a name nor an address")) from error
    return httpx2.AsyncClient(
        transport=_GuardedTransport(policy),
        timeout=httpx2.Timeout(policy.read_seconds, connect=policy.connect_seconds),
        follow_redirects=False,
        trust_env=False,
    )


def post(
    policy: HttpPolicy, path: str, body: bytes, headers: Mapping[str, str], *, total_seconds: float
) -> tuple[int, bytes]:
    """Post a body below the base URL and wait; returns the status, and the answer's body where the status is 200.

    Raises ConnectionError where the server cannot be reached, and another OSError where the exchange breaks off or
    takes longer than `total_seconds`.
    """
    exchange = _post(policy, path, body, headers, total_seconds)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(exchange)
    with ThreadPoolExecutor(1) as pool:  # the caller's own event loop cannot run a second one
        return pool.submit(asyncio.run, exchange).result()


async def _post(
    policy: HttpPolicy, path: str, body: bytes, headers: Mapping[str, str], total_seconds: float
) -> tuple[int, bytes]:
    url = f"{policy.base_url.rstrip('/')}{path}"
    try:
        async with (
            asyncio.timeout(total_seconds),
            make_client(policy) as client,
            client.stream("POST", url, content=body, headers=headers) as response,
        ):
            return response.status_code, await response.aread() if response.status_code == 200 else b""
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
        raise ConnectionError("no connection") from error
    except httpx2.LocalProtocolError:
        raise OSError("the request cannot be sent") from None  # its message repeats headers, and so a key
    except (TimeoutError, httpx2.TransportError) as error:
        raise OSError("the exchange broke off or took too long") from error


class _GuardedBackend(httpcore2.AnyIOBackend):
    """Resolves hosts, refuses addresses that the policy does not allow, and connects to the others."""

    def __init__(self, policy: HttpPolicy) -> None:
        self._policy = policy
        self._sends_clear_key = policy.sends_key and urlsplit(policy.base_url).scheme == "http"

    async def resolve(self, host: str, port: int, seconds: float | None) -> list[Address]:
        """The checked addresses of a host; OSError where it has none."""
        self._refuse(find_host_problem(host))
        literal = parse_address(host)
        if literal is not None:
            addresses = [literal]
        else:
            lookup = asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
            addresses = collect_addresses(await asyncio.wait_for(lookup, seconds))
        for address in addresses:
            self._refuse(
                find_address_problem(
                    address,
                    allow_link_local=self._policy.allow_link_local,
                    sends_clear_key=self._sends_clear_key,
                )
            )
        return addresses

    def _refuse(self, problem: Sentence | None) -> None:
        if problem is not None and not self._policy.allow_any_address:
            raise AddressRefusedError(problem)

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
            addresses = await self.resolve(host, port, timeout)
        except (OSError, ValueError) as error:
            raise httpcore2.ConnectError("the name cannot be looked up") from error
        failure: Exception = httpcore2.ConnectError("the name has no address")
        for address in addresses:
            try:
                return await super().connect_tcp(str(address), port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure


class _GuardedTransport(httpx2.AsyncHTTPTransport):
    """The transport of httpx2 with the address guard, the header filter and the bounds of a policy."""

    def __init__(self, policy: HttpPolicy) -> None:
        proxy = _choose_proxy(policy)
        limits = httpx2.Limits(max_connections=policy.max_connections, max_keepalive_connections=20)
        super().__init__(verify=_tls_context(), limits=limits, proxy=proxy)
        self._policy = policy
        self._backend = _GuardedBackend(policy)
        self._check_before_proxy = proxy is not None
        if proxy is None:
            self._pool._network_backend = self._backend

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request with allowed headers only, and bound its answer."""
        if self._check_before_proxy:
            await self._check_host(request.url)
        headers = [pair for pair in request.headers.raw if pair[0].lower() in self._policy.allowed_headers]
        request.headers = httpx2.Headers([*headers, (b"Accept-Encoding", b"identity")])
        response = await super().handle_async_request(request)
        problem = _find_answer_problem(response)
        if problem is not None:
            await response.aclose()
            raise AnswerRefusedError(problem)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _BoundedStream(response.stream, self._policy)
        return response

    async def _check_host(self, url: httpx2.URL) -> None:
        """Check a host that a proxy will resolve, once for each client."""
        with suppress(OSError, ValueError):  # only the proxy knows this name
            await self._backend.resolve(url.raw_host.decode("ascii"), url.port or 443, LOOKUP_SECONDS)
        self._check_before_proxy = False


class _BoundedStream(httpx2.AsyncByteStream):
    """The body of an answer, refused once it or one of its lines is too long."""

    def __init__(self, body: httpx2.AsyncByteStream, policy: HttpPolicy) -> None:
        self._body = body
        self._policy = policy

    async def __aiter__(self) -> AsyncIterator[bytes]:
        line = total = 0
        max_line = self._policy.max_line_bytes or self._policy.max_bytes
        async for part in self._body:
            total += len(part)
            last = part.rfind(b"\n")
            line = line + len(part) if last < 0 else len(part) - last - 1
            if line > max_line or total > self._policy.max_bytes:
                raise AnswerRefusedError(message("an answer that is too long"))
            yield part

    async def aclose(self) -> None:
        """Close the connection, or return it to the pool."""
        await self._body.aclose()


def _find_answer_problem(response: httpx2.Response) -> Sentence | None:
    """Why the body of an answer is not read, or None."""
    if response.headers.get("content-encoding", "identity").lower() not in ("", "identity"):
        return message("a compressed answer")
    media_type = response.headers.get("content-type", "").lower().split(";")[0]
    if response.status_code < 400 and media_type.startswith(_PAGE_TYPES):
        return message("a page of the type {media_type}", media_type=media_type)
    return None


def _choose_proxy(policy: HttpPolicy) -> str | None:
    proxy = find_proxy(policy.base_url, policy.proxy)
    if proxy is not None:
        problem = find_proxy_problem(proxy, from_settings=policy.proxy != FROM_ENVIRONMENT)
        if problem is not None:
            raise ProxyRefusedError(problem)
    return proxy


@lru_cache(maxsize=1)
def _tls_context() -> ssl.SSLContext:
    """The trusted certificates; reading them takes longer than a request, so it happens once."""
    return httpx2.create_ssl_context()
