"""An embeddings endpoint: vectors from any server that speaks OpenAI's `/v1/embeddings`.

The server is somebody else's program, so nothing it says is believed: where its address leads is looked at before
anything is sent, redirects are not followed, an answer has a time and a size it must keep to, and its numbers are
counted, ordered, measured and brought to length 1 here. Where the machine has a proxy, it is used. Whatever goes
wrong is one error, EMBEDDING_UNAVAILABLE, and says neither text nor key.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Sequence
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from threading import Timer
from typing import Literal
from urllib.parse import SplitResult, urlsplit

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fabula.core.errors import Code, FabulaError
from fabula.net.addresses import Address, found, spelled, wrong_with, wrong_with_name, wrong_with_url
from fabula.net.proxies import proxy_for
from fabula.net.tunnel import credentials, dig

SECONDS = 10.0  # for one request, from first to last byte
TEXTS = 32  # in one request
CHARACTERS = 2000  # of a text are sent
LARGEST = 32_000_000  # bytes of an answer
DIMENSIONS = 16_384

Vectors = NDArray[np.float32]


class _Row(Struct):
    embedding: list[float]
    index: int


class _Answer(Struct):
    data: list[_Row]


class _Question(Struct):
    model: str
    input: list[str]
    encoding_format: Literal["float"] = "float"


class Endpoint:
    """A server's vectors; all must have as many numbers as the first that came."""

    local = False

    def __init__(
        self, url: str, model: str, *, key: str = "", link_local: bool = False, seconds: float = SECONDS
    ) -> None:
        """`url` is what the documentation of such servers calls the base URL, mostly ending in `/v1`."""
        self._url = _split(url)
        self._host = self._url.hostname or ""
        self._secure = self._url.scheme == "https"
        self._port = self._url.port or (443 if self._secure else 80)
        self._model = model
        self._key = key
        self._link_local = link_local
        self._seconds = seconds
        self._dimension = 0
        self.name = f"{model}@{self._url.netloc}{self._url.path}"

    def reads(self, text: str) -> bool:
        """Which languages a server reads is for whoever chose it to know."""
        return True

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text, of length 1."""
        made = [self._some(texts[at : at + TEXTS]) for at in range(0, len(texts), TEXTS)]
        return np.concatenate(made) if made else np.zeros((0, self._dimension), np.float32)

    def _some(self, texts: Sequence[str]) -> Vectors:
        sent = [text[:CHARACTERS].encode(errors="replace").decode().strip() or "." for text in texts]
        body = self._ask(msgspec.json.encode(_Question(self._model, sent)))
        try:
            rows = msgspec.json.decode(body, type=_Answer).data
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise self._failed("answered with something that is no list of vectors") from error
        if sorted(row.index for row in rows) != list(range(len(texts))):
            raise self._failed(f"answered {len(texts)} texts with {len(rows)} vectors, or in no order")
        return self._checked([row.embedding for row in sorted(rows, key=lambda row: row.index)])

    def _checked(self, rows: list[list[float]]) -> Vectors:
        sizes = {len(row) for row in rows}
        if len(sizes) != 1 or not 0 < (size := sizes.pop()) <= DIMENSIONS or size != (self._dimension or size):
            raise self._failed(f"gave vectors of other lengths than before ({self._dimension or 'none'})")
        vectors = np.array(rows, np.float64)
        scale = np.abs(vectors).max(axis=1, keepdims=True)
        if not np.isfinite(scale).all() or not scale.all():
            raise self._failed("gave vectors that are no direction: all zero, or not a number")
        vectors /= scale
        vectors /= np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
        self._dimension = size
        return vectors.astype(np.float32)

    def _ask(self, question: bytes) -> bytes:
        """The bytes of the answer, in time, or EMBEDDING_UNAVAILABLE."""
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Connection": "close"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        proxy = self._proxy()
        path = f"{self._url.path.rstrip('/')}/embeddings"
        if proxy is not None and not self._secure:  # such a proxy reads the whole address, and who we are
            path = f"http://{self._url.netloc}{path}"
            headers |= {"Proxy-Authorization": said} if (said := credentials(proxy)) else {}
        with self._connected(proxy) as wire:
            connection = (HTTPSConnection if self._secure else HTTPConnection)(self._host, self._url.port)
            connection.sock = wire
            late = Timer(self._seconds, _hang_up, (wire,))
            late.daemon = True
            late.start()
            try:
                connection.request("POST", path, question, headers)
                with connection.getresponse() as response:
                    return self._read(response)
            except (OSError, HTTPException, ValueError) as error:
                raise self._failed("broke off or did not answer in time") from error
            finally:
                late.cancel()

    def _read(self, response: HTTPResponse) -> bytes:
        if 300 <= response.status < 400:
            raise self._failed("sends us elsewhere; name the address it means, redirects are not followed")
        if response.status != 200:
            raise self._failed(f"answered with status {response.status}")
        body = response.read(LARGEST + 1)
        if len(body) > LARGEST:
            raise self._failed("answered with more than vectors can take")
        return body

    def _connected(self, proxy: SplitResult | None) -> socket.socket:
        """A connection to an address that was looked at: names are not resolved a second time, but by a proxy."""
        try:
            addresses = self._looked_at(proxied=proxy is not None)
            wire = _reach(addresses, self._port, self._seconds) if proxy is None else self._through(proxy)
            return ssl.create_default_context().wrap_socket(wire, server_hostname=self._host) if self._secure else wire
        except (OSError, ValueError) as error:
            raise self._failed("cannot be reached") from error

    def _through(self, proxy: SplitResult) -> socket.socket:
        wire = socket.create_connection((proxy.hostname or "", proxy.port or 80), timeout=self._seconds)
        try:
            if self._secure:
                dig(wire, self._host, self._port, credentials(proxy))
        except OSError:
            wire.close()
            raise
        return wire

    def _looked_at(self, *, proxied: bool) -> list[Address]:
        """Where the server is, and nothing wrong with it; only a proxy may know a name that leads nowhere from here."""
        literal = spelled(self._host)
        addresses = [literal] if literal is not None else []
        wrong = wrong_with_name(self._host)
        if not wrong and literal is None:
            try:
                addresses = found(socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM))
            except OSError:
                if not proxied:
                    raise
        clear_key = bool(self._key) and not self._secure
        for address in addresses:
            wrong = wrong or wrong_with(address, link_local=self._link_local, clear_key=clear_key)
        if wrong:
            raise self._failed(wrong)
        return addresses

    def _proxy(self) -> SplitResult | None:
        named = proxy_for(self._url.geturl())
        if named is None:
            return None
        proxy = urlsplit(named)
        if proxy.scheme != "http" or not proxy.hostname:
            raise self._failed("stands behind a proxy that does not speak plain HTTP; put it into NO_PROXY")
        return proxy

    def _failed(self, what: str) -> FabulaError:
        return FabulaError(
            Code.EMBEDDING_UNAVAILABLE, f"The embeddings server {self._host} {what}. Search goes by words alone."
        )


def _split(url: str) -> SplitResult:
    wrong = wrong_with_url(url)
    if wrong:
        raise FabulaError(
            Code.EMBEDDING_UNAVAILABLE, f"The address of the embeddings server {wrong}. Search goes by words alone."
        )
    return urlsplit(url)


def _reach(addresses: Sequence[Address], port: int, seconds: float) -> socket.socket:
    """The first of a server's addresses that answers."""
    for number, address in enumerate(addresses, start=1):
        try:
            return socket.create_connection((str(address), port), timeout=seconds)
        except OSError:
            if number == len(addresses):
                raise
    raise OSError("no address")


def _hang_up(wire: socket.socket) -> None:
    """Ends whatever waits for the server, also for one that sends a byte now and then."""
    with suppress(OSError):
        wire.shutdown(socket.SHUT_RDWR)
