"""A server that can be killed and started again at the same address, with the same sessions."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Sequence

import uvicorn
from litestar.types import ControllerRouterHandler

from fabula.server.access import OWNER_ACCESS
from fabula.server.accounts import Accounts
from fabula.server.app import make_app
from fabula.server.connections import BoundedProtocol
from fabula.workspace.workspace import Workspace


class PageServer:
    """A server for a browser. It is local, and whoever opens its link is the owner."""

    def __init__(self, workspace: Workspace, handlers: Sequence[ControllerRouterHandler] = ()) -> None:
        self.workspace = workspace
        self.accounts = Accounts(workspace.store, {"owner-token": OWNER_ACCESS})
        self._handlers = handlers
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def make_link(self) -> str:
        """A link that signs one browser in."""
        return f"{self.url}/open/{self.accounts.make_code()}"

    def start(self) -> None:
        app = make_app(self.workspace, self.accounts, handlers=self._handlers)
        config = uvicorn.Config(
            app,
            host="127.0.0.1",
            port=self.port,
            http=BoundedProtocol,
            ws="none",
            log_config=None,
            access_log=False,
            lifespan="on",
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()
        while not self._server.started:
            assert self._thread.is_alive(), "the server did not start"
            time.sleep(0.01)

    def stop(self) -> None:
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join()
        self._server = None
