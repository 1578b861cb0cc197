"""A real server on the loopback for tests: uvicorn in a thread, on a port of its own, which stops by itself."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache

import httpx2
import uvicorn

from fabula.server.access import OWNER_ACCESS, Access
from fabula.server.accounts import Accounts
from fabula.server.address import open_socket
from fabula.server.app import make_app
from fabula.server.connections import BoundedProtocol
from fabula.server.serving import ProcessServer
from fabula.server.session_cookie import name_cookie
from fabula.workspace.chat import ChatModel
from fabula.workspace.workspace import Workspace
from tests.workspace.chat.scripted import ScriptedProvider

OWNER_TOKEN = "owner-token"


def make_client(base_url: str, headers: Mapping[str, str], timeout: float = 30) -> httpx2.Client:
    """A client that uses no proxy of this machine."""
    return httpx2.Client(base_url=base_url, headers=headers, timeout=timeout, trust_env=False, verify=_tls_context())


@cache
def _tls_context() -> ssl.SSLContext:
    """The trusted certificates; reading them takes longer than most requests, so it happens once."""
    return httpx2.create_ssl_context()


class RunningServer:
    """A server that answers, and clients for it."""

    def __init__(self, base_url: str, accounts: Accounts) -> None:
        self.base_url = base_url
        self.accounts = accounts
        self.cookie = name_cookie("http", base_url.removeprefix("http://"))

    def client(self, token: str | None = OWNER_TOKEN, **headers: str) -> httpx2.Client:
        """A client with a token, or with none."""
        own = {"Authorization": f"Bearer {token}"} if token is not None else {}
        return make_client(self.base_url, {**own, **headers})


def post_and_leave(base_url: str, path: str, body: object, until: threading.Event) -> None:
    """Send a request of the owner, and close the connection without an answer once something has happened."""
    host, _, port = base_url.removeprefix("http://").partition(":")
    data = json.dumps(body).encode()
    lines = [
        f"POST {path} HTTP/1.1",
        f"Host: {host}:{port}",
        f"Authorization: Bearer {OWNER_TOKEN}",
        "Content-Type: application/json",
        f"Content-Length: {len(data)}",
    ]
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + data)
        assert until.wait(30)


@contextmanager
def run_server(
    workspace: Workspace, people: Mapping[str, Access] | None = None, *, model: ChatModel = None
) -> Iterator[RunningServer]:
    """Serve a workspace until the block ends; `people` are callers by token, and `model` answers."""
    accounts = Accounts(workspace.store, {OWNER_TOKEN: OWNER_ACCESS, **(people or {})})
    config = uvicorn.Config(
        make_app(workspace, accounts, model=model or ScriptedProvider()),
        host="127.0.0.1",
        port=0,
        http=BoundedProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        lifespan="on",
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.005)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield RunningServer(f"http://127.0.0.1:{port}", accounts)
    finally:
        server.should_exit = True
        thread.join()


class _ThreadServer(ProcessServer):
    """The server of one process in a thread, which no signal reaches."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield


class StoppableServer:
    """A server as `fabula serve` runs it, which can be told to stop while clients are waiting."""

    def __init__(self, base_url: str, server: ProcessServer) -> None:
        self.base_url, self._server = base_url, server

    def client(self) -> httpx2.Client:
        """A client of the owner."""
        return make_client(self.base_url, {"Authorization": f"Bearer {OWNER_TOKEN}"})

    def stop(self) -> None:
        """Tell the server to stop, as a signal does."""
        self._server.should_exit = True


@contextmanager
def run_process_server(workspace: Workspace, host: str = "127.0.0.1") -> Iterator[StoppableServer]:
    """Serve a workspace as `fabula serve` does, until the block ends or the server is told to stop."""
    with open_socket(host, 0) as opened:
        server = _ThreadServer(workspace, host=host, token=OWNER_TOKEN)
        thread = threading.Thread(target=lambda: server.run(sockets=[opened]))
        thread.start()
        running = StoppableServer(f"http://127.0.0.1:{opened.getsockname()[1]}", server)
        try:
            yield running
        finally:
            running.stop()
            thread.join()
