"""Runs the server in this process until it is told to stop: uvicorn on one socket, and the job worker (ppl-2)."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from msgspec import Struct

from fabula.access.passwords import make_secret
from fabula.core.errors import Code, FabulaError
from fabula.core.file_errors import describe_os_error
from fabula.core.messages import message
from fabula.server.access import OWNER_ACCESS
from fabula.server.accounts import Accounts
from fabula.server.app import make_app
from fabula.server.events import EventHub
from fabula.server.security import LINK_PATH, LOOPBACK
from fabula.server.tokens import LocalTokens
from fabula.workspace.workspace import Workspace

SHUTDOWN_SECONDS = 10  # that requests and streams have to end
KEEP_ALIVE_SECONDS = 20


class ServerAddress(Struct, frozen=True):
    """Where a server answers: its address, a link that signs one browser in, and the token for programs."""

    url: str
    link: str
    token: str
    is_local: bool


def serve(
    workspace: Workspace,
    *,
    host: str = "127.0.0.1",
    port: int = 8600,
    worker: bool = True,
    on_ready: Callable[[ServerAddress], None],
) -> None:
    """Serve a workspace until SIGINT or SIGTERM; requests that are running are finished first.

    `on_ready` is called when the socket is open: requests that come from then on are answered.
    """
    with _open_socket(host, port) as opened:
        token, number = make_secret(), opened.getsockname()[1]
        tokens = LocalTokens({token: OWNER_ACCESS})
        events = EventHub(workspace)
        config = uvicorn.Config(
            make_app(workspace, Accounts(workspace.store, tokens), hosts=[host], events=events),
            log_config=None,
            access_log=False,  # addresses hold titles of the story
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
        url = f"http://{f'[{host}]' if ':' in host else host}:{number}"
        if worker:
            workspace.start_worker()
        on_ready(ServerAddress(url, f"{url}{LINK_PATH}{tokens.make_code()}", token, host in LOOPBACK))
        _Server(config, events).run(sockets=[opened])


class _Server(uvicorn.Server):
    """A server that ends without raising the signal again, so that its caller can close the store."""

    def __init__(self, config: uvicorn.Config, events: EventHub) -> None:
        super().__init__(config)
        self._events = events

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Tell windows that follow projects to come back later, then wait for all other requests."""
        await self._events.close()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _open_socket(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        reason = describe_os_error(error) if isinstance(error, OSError) else str(error)
        raise FabulaError(
            Code.REQUEST_INVALID,
            message(
                "The server cannot listen at {host}, port {port} ({reason}). Choose another one with --port.",
                host=host,
                port=port,
                reason=reason,
            ),
        ) from None
