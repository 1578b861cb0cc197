"""A real HTTP proxy on the loopback that forwards every request to one server, whatever its host."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread

import pytest

_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


def clear_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the proxies of this machine from the environment."""
    for name in _VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


class Proxy:
    """Records requests and forwards or refuses them."""

    def __init__(self, target_port: int) -> None:
        self.target_port = target_port
        self.port = 0
        self.refusal_status = 0
        self.request_lines: list[str] = []
        self.headers: list[dict[str, str]] = []

    def serve(self, client: socket.socket) -> None:
        """Serve one connection."""
        with client, suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                data = client.recv(65536)
                if not data:
                    return
                head += data
            head, _, body = head.partition(b"\r\n\r\n")
            first, *lines = head.decode().split("\r\n")
            self.request_lines.append(first)
            self.headers.append({line.split(":")[0].lower(): line.split(":", 1)[1].strip() for line in lines})
            if self.refusal_status:
                client.sendall(f"HTTP/1.1 {self.refusal_status} No\r\nContent-Length: 0\r\n\r\n".encode())
                return
            with socket.create_connection(("127.0.0.1", self.target_port)) as server:
                if first.startswith("CONNECT"):
                    client.sendall(b"HTTP/1.1 200 Go on\r\n\r\n")
                else:
                    method, url, version = first.split(" ")
                    path = "/" + url.split("/", 3)[3]
                    forwarded = [line for line in lines if not line.lower().startswith(("proxy-", "connection"))]
                    server.sendall("\r\n".join([f"{method} {path} {version}", *forwarded, "", ""]).encode() + body)
                back = Thread(target=_forward, args=(server, client), daemon=True)
                back.start()
                _forward(client, server)
                back.join(10)


@contextmanager
def run_proxy(target_port: int) -> Iterator[Proxy]:
    """Run a proxy until the block ends."""
    proxy = Proxy(target_port)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        proxy.port = listening.getsockname()[1]

        def run() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listening.accept()
                    Thread(target=proxy.serve, args=(client,), daemon=True).start()

        thread = Thread(target=run, daemon=True)
        thread.start()
        yield proxy
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def _forward(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
