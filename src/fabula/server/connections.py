"""Bounds of one connection: how large headers are, and how long a client may take to send a request or read an answer.

uvicorn waits for ever for the rest of a request and for a client that reads nothing, and takes headers of any length.
Here a timer looks at every connection that is waited for: it must go on by a number of bytes in each interval, or it
is ended. Time in which the server itself lets the client wait does not count.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.net.networks import name_network
from fabula.server.limits import refuse_open
from fabula.server.problems import choose_language, describe_refusal, encode_refusal
from fabula.server.security import DEFAULT_HEADERS, SecurityMiddleware

MAX_HEADERS = 100
MAX_HEADER_BYTES = 32_768  # of the first line and all headers
HEADER_SECONDS = 15.0  # in which the headers of a request must be there
INTERVAL_SECONDS = 15.0  # between two looks at a body that comes in, or at an answer that is read
MIN_BYTES = 4_096  # that must come or go in each interval
REST_SECONDS = 10.0  # that the rest of a request may take whose answer was sent before its end


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's connection with bounds on headers, slow senders and slow readers."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._header_bytes = self._body_bytes = 0
        self._reads_headers = True
        self._reads_body = False
        self._sender_timer: asyncio.TimerHandle | None = None
        self._reader_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for the first request, unless the address has too many connections already."""
        super().connection_made(cast("asyncio.Transport", transport))
        self._watch_sender(HEADER_SECONDS, self._end_slow_headers)
        if self.client is not None and not self._may_connect(self.client[0]):
            self._refuse(refuse_open())

    def _may_connect(self, address: str) -> bool:
        """Whether one more connection of an address is allowed; they are only counted where there are many at all."""
        everybody: Any = self.connections
        if not isinstance(self.app, SecurityMiddleware) or self.app.may_connect(address, len(everybody)):
            return True
        network = name_network(address)
        own = sum(1 for one in everybody if one.client is not None and name_network(one.client[0]) == network)
        return self.app.may_connect(address, own)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting for either side."""
        self._watch_sender()
        self._watch_reader()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came in; headers that grow too long are refused before they are complete."""
        if self._reads_headers:
            self._header_bytes += len(data)
        super().data_received(data)
        if self._reads_headers and self._header_bytes > MAX_HEADER_BYTES and not self.transport.is_closing():
            self._refuse_headers()

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: a request to speak another protocol is answered in HTTP, and uvicorn advises packages."""

    def on_message_begin(self) -> None:
        """Begin a request: its headers must be there soon, and be of a bounded length."""
        self._watch_sender(HEADER_SECONDS, self._end_slow_headers)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Hand the request on, and wait for its body."""
        if self.transport.is_closing():
            return
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > MAX_HEADER_BYTES or len(self.headers) > MAX_HEADERS:
            self._refuse_headers()
            return
        self._reads_headers, self._reads_body, self._body_bytes = False, True, 0
        self._watch_sender(INTERVAL_SECONDS, self._check_sender)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        if self.transport.is_closing():
            return
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Stop waiting for the sender."""
        self._watch_sender()
        self._reads_headers, self._header_bytes = True, 0
        if self._reads_body:
            self._reads_body = False
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """Give the rest of a request that was answered already a short time."""
        super().on_response_complete()
        if self._reads_body and self.cycle.response_complete:
            self._watch_sender(REST_SECONDS, self.transport.abort)

    def pause_writing(self) -> None:
        """Begin to wait for the reader."""
        super().pause_writing()
        self._watch_reader(INTERVAL_SECONDS, self._check_reader, self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """Stop waiting for the reader."""
        self._watch_reader()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        self._refuse(FabulaError(Code.REQUEST_INVALID, message("The request could not be read. Nothing was changed.")))

    def _check_sender(self) -> None:
        """End a connection whose body comes in too slowly, unless it is the server who does not read."""
        if self._body_bytes < MIN_BYTES and not self.flow.read_paused:
            self._refuse_slow()
            return
        self._body_bytes = 0
        self._watch_sender(INTERVAL_SECONDS, self._check_sender)

    def _check_reader(self, before: int) -> None:
        """End a connection whose client reads too slowly."""
        size = self.transport.get_write_buffer_size()
        if before - size < MIN_BYTES:
            self.transport.abort()
            return
        self._watch_reader(INTERVAL_SECONDS, self._check_reader, size)

    def _watch_sender(self, seconds: float = 0.0, check: Callable[[], None] | None = None) -> None:
        if self._sender_timer is not None:
            self._sender_timer.cancel()
        self._sender_timer = self.loop.call_later(seconds, check) if check is not None else None

    def _watch_reader(self, seconds: float = 0.0, check: Callable[..., None] | None = None, *args: int) -> None:
        if self._reader_timer is not None:
            self._reader_timer.cancel()
        self._reader_timer = self.loop.call_later(seconds, check, *args) if check is not None else None

    def _end_slow_headers(self) -> None:
        """End a connection that is silent, and refuse one that began a request and did not go on."""
        if self.flow.read_paused:
            self._watch_sender(HEADER_SECONDS, self._end_slow_headers)
        elif self._header_bytes:
            self._refuse_slow()
        else:
            self.transport.close()

    def _refuse_slow(self) -> None:
        self._refuse(
            FabulaError(
                Code.HTTP_TOO_SLOW,
                message("The request came in too slowly, and was not waited for. Nothing was changed."),
            )
        )

    def _refuse_headers(self) -> None:
        self._refuse(
            FabulaError(
                Code.HTTP_HEADERS_TOO_LARGE,
                message(
                    "The address and the headers of a request have at most {bytes:,} bytes, in {count} headers. "
                    "Nothing was changed.",
                    bytes=MAX_HEADER_BYTES,
                    count=MAX_HEADERS,
                ),
            )
        )

    def _refuse(self, error: FabulaError) -> None:
        """Answer in place of the application, and end the connection; an answer that is being sent is broken off."""
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if self.pipeline or (is_answering and (self._reads_headers or self.cycle.response_started)):
            self.transport.abort()
            return
        accept = next((value for name, value in self.headers or () if name == b"accept-language"), b"")
        problem = describe_refusal(error, choose_language(accept[:200].decode("latin-1")))
        status, headers, body = encode_refusal(problem, "")  # the address may not have come yet
        lines = [STATUS_LINE[status]]
        lines += [f"{name}: {value}\r\n".encode("latin-1") for name, value in {**DEFAULT_HEADERS, **headers}.items()]
        lines.append(f"content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode())
        self.transport.write(b"".join(lines) + body)
        self.transport.close()
