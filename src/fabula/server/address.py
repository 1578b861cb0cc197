"""Where a server answers: its socket, its address, and the link and the token that it prints."""

from __future__ import annotations

import socket

from msgspec import Struct

from fabula.access.passwords import make_secret
from fabula.core.errors import Code, FabulaError
from fabula.core.file_errors import describe_os_error
from fabula.core.messages import advise, message
from fabula.server.accounts import Accounts
from fabula.server.proxies import read_proxy_settings
from fabula.store.store import Store

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
LINK_PATH = "/open/"
_ANY_ADDRESS = frozenset({"0.0.0.0", "::"})  # where to listen, but nothing that a browser can open


class ServerAddress(Struct, frozen=True):
    """Where a server answers: its address, a link that signs one browser in, and the token for programs."""

    url: str
    link: str
    token: str
    is_local: bool


def make_address(store: Store, host: str, opened: socket.socket) -> ServerAddress:
    """Return where a socket answers, with a new token and a new link."""
    url = make_url(host, opened.getsockname()[1])
    return ServerAddress(url, make_link(url, Accounts(store, {}).make_code()), make_secret(), host in LOOPBACK)


def make_url(host: str, port: int) -> str:
    """Return the address of a server that listens at a host and a port.

    One that listens at all addresses is named by the first of its names (`server.hosts`), or as this machine.
    """
    if host in _ANY_ADDRESS:
        host = next(iter(read_proxy_settings().hosts), "localhost")
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def make_link(url: str, code: str) -> str:
    """Return the link that signs one browser in with a code."""
    return f"{url.rstrip('/')}{LINK_PATH}{code}"


def open_socket(host: str, port: int) -> socket.socket:
    """Listen at an address, or say why that is not possible."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        reason = describe_os_error(error) if isinstance(error, OSError) else str(error)
        raise FabulaError(
            Code.REQUEST_INVALID,
            message(
                "The server cannot listen at {host}, port {port} ({reason}). {advice}",
                advice=advise(
                    message("Choose another one with --port, or with FABULA_PORT=8601 before the command."),
                    message("Choose another one."),
                ),
                host=host,
                port=port,
                reason=reason,
            ),
        ) from None
