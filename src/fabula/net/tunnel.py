"""A tunnel through a proxy: asked for in a few lines, after which the wire leads to the server itself."""

from __future__ import annotations

import base64
import socket
from urllib.parse import SplitResult, unquote

_LONGEST = 32_768  # bytes a proxy may say before it lets us through


def credentials(proxy: SplitResult) -> str:
    """What a proxy's address says of who we are, as it wants to hear it; empty where it says nothing."""
    if proxy.username is None:
        return ""
    said = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return f"Basic {base64.b64encode(said.encode()).decode()}"


def dig(wire: socket.socket, host: str, port: int, who: str) -> None:
    """Have the proxy at the other end lead on to a server; OSError where it does not."""
    there = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    lines = [f"CONNECT {there} HTTP/1.1", f"Host: {there}", *([f"Proxy-Authorization: {who}"] if who else [])]
    wire.sendall(("\r\n".join(lines) + "\r\n\r\n").encode("ascii"))
    said = b""
    while b"\r\n\r\n" not in said:
        more = wire.recv(1)  # one byte at a time: what follows belongs to the server
        if not more or len(said) > _LONGEST:
            raise OSError("the proxy broke off")
        said += more
    status = said.split(b" ", 2)[1:2]
    if not said.startswith(b"HTTP/1.") or status != [b"200"]:
        raise OSError("the proxy does not let us through")
