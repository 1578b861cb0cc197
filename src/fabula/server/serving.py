"""Runs the server until it is told to stop: uvicorn on one socket, and the job worker, in this process (ppl-2).

`supervisor.py` runs several processes on one socket.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import uvicorn
from litestar.types import ControllerRouterHandler

from fabula.server.access import OWNER_ACCESS
from fabula.server.accounts import Accounts
from fabula.server.address import ServerAddress, make_address, open_socket
from fabula.server.app import make_app
from fabula.server.connections import BoundedProtocol
from fabula.server.events import EventHub
from fabula.server.garbage import limit_collections
from fabula.server.logs import write_logs
from fabula.server.open_files import raise_file_limit
from fabula.server.programs import ProgramServer
from fabula.server.streams import StreamHub
from fabula.workspace.workspace import Workspace

STREAM_SECONDS = 5.0  # that streams have to end when the server stops
SHUTDOWN_SECONDS = 10  # that requests and streams have to end
KEEP_ALIVE_SECONDS = 20


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
    write_logs()
    raise_file_limit()
    with open_socket(host, port) as opened:
        address = make_address(workspace.store, host, opened)
        server = ProcessServer(workspace, host=host, token=address.token)
        if worker:
            workspace.start_worker()
        with server.capture_signals():  # one that arrives before the server runs ends it too
            on_ready(address)
            server.run(sockets=[opened])


class ProcessServer(uvicorn.Server):
    """The server of one process, which ends without raising the signal again, so that its caller can close the store.

    `token` is the owner's; `handlers` are served beside the routes; `processes` of them share rates and quotas.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        host: str,
        token: str,
        on_started: Callable[[], None] = lambda: None,
        handlers: Sequence[ControllerRouterHandler] = (),
        processes: int = 1,
    ) -> None:
        self._events, self._streams, self._programs = (
            EventHub(workspace),
            StreamHub(workspace),
            ProgramServer(workspace),
        )
        accounts = Accounts(workspace.store, {token: OWNER_ACCESS})
        config = uvicorn.Config(
            make_app(
                workspace,
                accounts,
                hosts=[host],
                handlers=handlers,
                events=self._events,
                streams=self._streams,
                programs=self._programs,
                processes=processes,
            ),
            log_config=None,
            http=BoundedProtocol,
            ws="none",
            access_log=False,  # addresses hold titles of the story
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
        super().__init__(config)
        self._on_started = on_started

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer until the server is told to stop."""
        async with limit_collections(lambda: self.server_state.total_requests):
            await super().serve(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        self._on_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Tell windows and programs that follow projects to come back later, then wait for all other requests.

        Streams have a part of that time to end; the others say that they were stopped.
        """
        await self._events.close()
        ending = asyncio.create_task(self._end_streams())
        await super().shutdown(sockets)
        await ending

    async def _end_streams(self) -> None:
        self._programs.close()  # by now no connection takes another request
        await self._streams.close(STREAM_SECONDS)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop by SIGINT or SIGTERM."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
