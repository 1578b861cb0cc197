"""A real HTTP proxy on the loopback that leads everything to one server, whatever name it was asked for."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread

import pytest

_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


def without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if this machine had none."""
    for name in _VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


class Proxy:
    """What it was asked, and whether it lets anybody through."""

    def __init__(self, leads_to: int) -> None:
        self.leads_to = leads_to
        self.port = 0
        self.refuses = 0
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []

    def serve(self, wire: socket.socket) -> None:
        """One connection."""
        with wire, suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                more = wire.recv(65536)
                if not more:
                    return
                head += more
            head, _, body = head.partition(b"\r\n\r\n")
            first, *lines = head.decode().split("\r\n")
            self.asked.append(first)
            self.headers.append({line.split(":")[0].lower(): line.split(":", 1)[1].strip() for line in lines})
            if self.refuses:
                wire.sendall(f"HTTP/1.1 {self.refuses} No\r\nContent-Length: 0\r\n\r\n".encode())
                return
            with socket.create_connection(("127.0.0.1", self.leads_to)) as there:
                if first.startswith("CONNECT"):
                    wire.sendall(b"HTTP/1.1 200 Go on\r\n\r\n")
                else:
                    method, url, version = first.split(" ")
                    path = "/" + url.split("/", 3)[3]
                    kept = [line for line in lines if not line.lower().startswith(("proxy-", "connection"))]
                    there.sendall("\r\n".join([f"{method} {path} {version}", *kept, "", ""]).encode() + body)
                back = Thread(target=_pour, args=(there, wire), daemon=True)
                back.start()
                _pour(wire, there)
                back.join(10)


@contextmanager
def proxying(leads_to: int) -> Iterator[Proxy]:
    """Runs until the block ends."""
    proxy = Proxy(leads_to)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        proxy.port = listening.getsockname()[1]

        def run() -> None:
            with suppress(OSError):
                while True:
                    wire, _ = listening.accept()
                    Thread(target=proxy.serve, args=(wire,), daemon=True).start()

        thread = Thread(target=run, daemon=True)
        thread.start()
        yield proxy
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def _pour(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(65536):
            other.sendall(data)
        other.shutdown(socket.SHUT_WR)
