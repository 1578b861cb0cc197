"""A real HTTP server on the loopback that speaks as OpenAI and Anthropic do, well or badly."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

Send = Callable[[bytes], Any]
Script = Callable[["Exchange"], Any]  # an async function that answers one request


class Exchange:
    """One request, and the way to answer it."""

    def __init__(self, path: str, headers: dict[str, str], body: bytes, writer: asyncio.StreamWriter) -> None:
        self.path, self.headers, self.body = path, headers, body
        self._writer = writer

    @property
    def asked(self) -> dict[str, Any]:
        """The request as JSON."""
        found: dict[str, Any] = json.loads(self.body)
        return found

    async def head(self, status: int = 200, kind: str = "text/event-stream", **headers: str) -> None:
        """The first lines; the body ends when the connection does."""
        lines = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.send(("\r\n".join(lines) + "\r\n\r\n").encode())

    async def send(self, data: bytes) -> None:
        """Some bytes, at once."""
        self._writer.write(data)
        await self._writer.drain()

    async def event(self, data: object, name: str = "") -> None:
        """One server-sent event."""
        said = data if isinstance(data, str) else json.dumps(data)
        await self.send((f"event: {name}\n" if name else "").encode() + f"data: {said}\n\n".encode())

    async def json(self, status: int, data: object, **headers: str) -> None:
        """A plain JSON answer."""
        await self.head(status, "application/json", **headers)
        await self.send(json.dumps(data).encode())


class Server:
    """Answers requests by a script, remembers them, and knows when a client has gone."""

    def __init__(self) -> None:
        self.script: Script = openai_says("Hello.")
        self.seen: list[Exchange] = []
        self.gone = threading.Event()  # a client closed its side while we were answering
        self.port = 0

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, one request."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {line.split(":", 1)[0].lower(): line.split(":", 1)[1].strip() for line in head[1:] if ":" in line}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            exchange = Exchange(head[0].split(" ")[1], headers, body, writer)
            self.seen.append(exchange)
            answering = asyncio.ensure_future(self.script(exchange))
            leaving = asyncio.ensure_future(reader.read(1))
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                self.gone.set()
                answering.cancel()
            leaving.cancel()
            await asyncio.gather(answering, leaving, return_exceptions=True)
            if not answering.cancelled() and isinstance(answering.exception(), ConnectionError):
                self.gone.set()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@contextmanager
def serving() -> Iterator[Server]:
    """A server in a thread of its own, for as long as a test lasts."""
    server = Server()
    loop = asyncio.new_event_loop()
    listening = loop.run_until_complete(asyncio.start_server(server.answer, "127.0.0.1", 0, limit=2**26))
    server.port = listening.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:

        async def end() -> None:
            listening.close()
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def chunk(text: str | None = None, why: str | None = None, **more: Any) -> dict[str, Any]:
    """A piece as OpenAI sends it."""
    choice = {"index": 0, "delta": {} if text is None else {"content": text}, "finish_reason": why}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **more}


def usage_chunk(**usage: Any) -> dict[str, Any]:
    """The last piece, with what was used."""
    return {**chunk(), "choices": [], "usage": usage}


def openai_says(*pieces: str, why: str = "stop", usage: dict[str, Any] | None = None) -> Script:
    """A good answer in OpenAI's words."""

    async def script(exchange: Exchange) -> None:
        await exchange.head()
        for piece in pieces:
            await exchange.event(chunk(piece))
        await exchange.event(chunk(why=why))
        if usage is not None:
            await exchange.event(usage_chunk(**usage))
        await exchange.event("[DONE]")

    return script


def anthropic_says(*pieces: str, why: str = "end_turn", usage: dict[str, Any] | None = None) -> Script:
    """A good answer in Anthropic's words."""

    async def script(exchange: Exchange) -> None:
        await exchange.head()
        async for name, data in _anthropic_events(pieces, why, usage or {"input_tokens": 10, "output_tokens": 1}):
            await exchange.event({"type": name, **data}, name)

    return script


async def _anthropic_events(
    pieces: tuple[str, ...], why: str, usage: dict[str, Any]
) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    message: dict[str, Any] = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "c",
        "stop_reason": None,
    }
    yield "message_start", {"message": {**message, "stop_sequence": None, "usage": usage}}
    yield "content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}
    for piece in pieces:
        yield "content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": piece}}
    yield "content_block_stop", {"index": 0}
    ended = {"stop_reason": why, "stop_sequence": None}
    yield "message_delta", {"delta": ended, "usage": {"output_tokens": usage.get("output_tokens", 1)}}
    yield "message_stop", {}


async def begins(exchange: Exchange, style: str, text: str) -> None:
    """A good answer's beginning in either one's words."""
    await exchange.head()
    if style == "anthropic":
        usage = {"input_tokens": 10, "output_tokens": 1}
        message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "c", "usage": usage}
        await exchange.event({"type": "message_start", "message": message}, "message_start")
    if text:
        await says(exchange, style, text)


async def says(exchange: Exchange, style: str, text: str | None, *, ends: bool = False) -> None:
    """A piece of text, or of thought where there is none."""
    if style == "openai":
        await exchange.event(chunk(text, "stop" if ends else None))
        return
    delta = {"type": "text_delta", "text": text} if text else {"type": "thinking_delta", "thinking": "hm"}
    await exchange.event({"type": "content_block_delta", "index": 0, "delta": delta}, "content_block_delta")
    if ends:
        ended = {"delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}
        await exchange.event({"type": "message_delta", **ended}, "message_delta")


def fails(status: int, message: str = "no", **headers: str) -> Script:
    """A refusal."""

    async def script(exchange: Exchange) -> None:
        await exchange.json(status, {"error": {"message": message, "type": "x", "code": None}}, **headers)

    return script
