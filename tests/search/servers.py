"""A real embeddings server on this machine's loopback, which can be told to misbehave."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

DIMENSION = 26

Rows = list[dict[str, Any]]


class Server:
    """What it was asked, and how it answers."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.change: Callable[[Rows], Rows] = lambda rows: rows
        self.raw: bytes | None = None  # instead of any vectors
        self.status = 200
        self.location = ""
        self.claims: int | None = None  # the length it says its answer has
        self.drip = 0.0  # seconds between two bytes
        self.slow = 0.0  # seconds before it answers
        self.closing = Event()


def letters(text: str) -> list[float]:
    """How often each letter occurs, and a little of everything."""
    return [0.1 + text.lower().count(chr(ord("a") + at)) for at in range(DIMENSION)]


@contextmanager
def embedding_server() -> Iterator[Server]:
    """Runs until the block ends."""
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            server.asked.append(json.loads(body))
            server.headers.append(dict(self.headers))
            server.paths.append(self.path)
            server.closing.wait(server.slow)
            answer = server.raw if server.raw is not None else _vectors(server)
            self.send_response(server.status)
            if server.location:
                self.send_header("Location", server.location)
            self.send_header("Content-Length", str(len(answer) if server.claims is None else server.claims))
            self.end_headers()
            if server.drip:
                _drip(self, answer, server)
            else:
                self.wfile.write(answer)

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Says nothing."""

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Whoever hangs up is not worth a word."""

    http = Quiet(("127.0.0.1", 0), Handler)
    thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
    try:
        yield server
    finally:
        server.closing.set()
        http.shutdown()
        thread.join()
        http.server_close()


def _vectors(server: Server) -> bytes:
    rows: Rows = [
        {"object": "embedding", "index": at, "embedding": letters(text)}
        for at, text in enumerate(server.asked[-1]["input"])
    ]
    return json.dumps({"object": "list", "data": server.change(rows), "model": "letters"}).encode()


def _drip(handler: BaseHTTPRequestHandler, answer: bytes, server: Server) -> None:
    for byte in answer:
        if server.closing.is_set():
            return
        handler.wfile.write(bytes([byte]))
        time.sleep(server.drip)
