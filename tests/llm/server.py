"""A real HTTP server on the loopback with the APIs of OpenAI and Anthropic, and scripted failures."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

Script = Callable[["Exchange"], Any]  # an async function that answers one request


class Exchange:
    """One request and the means to answer it."""

    def __init__(self, path: str, headers: dict[str, str], body: bytes, writer: asyncio.StreamWriter) -> None:
        self.path, self.headers, self.body = path, headers, body
        self._writer = writer

    @property
    def request(self) -> dict[str, Any]:
        """The request as JSON."""
        request: dict[str, Any] = json.loads(self.body)
        return request

    async def send_head(self, status: int = 200, kind: str = "text/event-stream", **headers: str) -> None:
        """Send status and headers; the body ends with the connection."""
        lines = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.send(("\r\n".join(lines) + "\r\n\r\n").encode())

    async def send(self, data: bytes) -> None:
        """Send bytes at once."""
        self._writer.write(data)
        await self._writer.drain()

    async def send_event(self, data: object, name: str = "") -> None:
        """Send a server-sent event."""
        text = data if isinstance(data, str) else json.dumps(data)
        await self.send((f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode())

    async def send_json(self, status: int, data: object, **headers: str) -> None:
        """Send a JSON answer."""
        await self.send_head(status, "application/json", **headers)
        await self.send(json.dumps(data).encode())


class ModelServer:
    """Answers requests by a script, records them, and notices a client that leaves."""

    def __init__(self) -> None:
        self.script: Script = openai_answer("Hello.")
        self.exchanges: list[Exchange] = []
        self.client_left = threading.Event()  # a client closed its side during an answer
        self.port = 0

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the one request of a connection."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {line.split(":", 1)[0].lower(): line.split(":", 1)[1].strip() for line in head[1:] if ":" in line}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            exchange = Exchange(head[0].split(" ")[1], headers, body, writer)
            self.exchanges.append(exchange)
            answering = asyncio.ensure_future(self.script(exchange))
            leaving = asyncio.ensure_future(reader.read(1))
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                self.client_left.set()
                answering.cancel()
            leaving.cancel()
            await asyncio.gather(answering, leaving, return_exceptions=True)
            if not answering.cancelled() and isinstance(answering.exception(), ConnectionError):
                self.client_left.set()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


@contextmanager
def run_server() -> Iterator[ModelServer]:
    """Run a server in a thread until the block ends."""
    server = ModelServer()
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
    """A chunk of OpenAI's stream."""
    choice = {"index": 0, "delta": {} if text is None else {"content": text}, "finish_reason": why}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **more}


def usage_chunk(**usage: Any) -> dict[str, Any]:
    """The last chunk, with the usage."""
    return {**chunk(), "choices": [], "usage": usage}


def openai_answer(*pieces: str, why: str = "stop", usage: dict[str, Any] | None = None) -> Script:
    """A script for a valid answer in OpenAI's format."""

    async def script(exchange: Exchange) -> None:
        await exchange.send_head()
        for piece in pieces:
            await exchange.send_event(chunk(piece))
        await exchange.send_event(chunk(why=why))
        if usage is not None:
            await exchange.send_event(usage_chunk(**usage))
        await exchange.send_event("[DONE]")

    return script


def counting_answer(style: str, count: Callable[[dict[str, Any]], int]) -> Script:
    """A script that reports as input what a count of the request gives."""

    async def script(exchange: Exchange) -> None:
        tokens = count(exchange.request)
        if style == "anthropic":
            await anthropic_answer("Yes.", usage={"input_tokens": tokens, "output_tokens": 1})(exchange)
        else:
            await openai_answer("Yes.", usage={"prompt_tokens": tokens, "completion_tokens": 1})(exchange)

    return script


def anthropic_answer(*pieces: str, why: str = "end_turn", usage: dict[str, Any] | None = None) -> Script:
    """A script for a valid answer in Anthropic's format."""

    async def script(exchange: Exchange) -> None:
        await exchange.send_head()
        async for name, data in _anthropic_events(pieces, why, usage or {"input_tokens": 10, "output_tokens": 1}):
            await exchange.send_event({"type": name, **data}, name)

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


async def start_answer(exchange: Exchange, style: str, text: str) -> None:
    """Send the beginning of a valid answer."""
    await exchange.send_head()
    if style == "anthropic":
        usage = {"input_tokens": 10, "output_tokens": 1}
        message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "c", "usage": usage}
        await exchange.send_event({"type": "message_start", "message": message}, "message_start")
    if text:
        await send_chunk(exchange, style, text)


async def send_chunk(exchange: Exchange, style: str, text: str | None, *, ends: bool = False) -> None:
    """Send a chunk of text, or of reasoning where `text` is None."""
    if style == "openai":
        await exchange.send_event(chunk(text, "stop" if ends else None))
        return
    delta = {"type": "text_delta", "text": text} if text else {"type": "thinking_delta", "thinking": "hm"}
    await exchange.send_event({"type": "content_block_delta", "index": 0, "delta": delta}, "content_block_delta")
    if ends:
        ended = {"delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}
        await exchange.send_event({"type": "message_delta", **ended}, "message_delta")


def error_answer(status: int, message: str = "no", **headers: str) -> Script:
    """A script for an error."""

    async def script(exchange: Exchange) -> None:
        await exchange.send_json(status, {"error": {"message": message, "type": "x", "code": None}}, **headers)

    return script
