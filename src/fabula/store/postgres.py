"""PostgreSQL connections that give up on a server which keeps the line open and answers no more.

Where a machine or a proxy between holds the connection without carrying it, neither side notices: TCP is confirmed,
and an answer never comes. A statement that waits for some seconds therefore asks whether the server still takes
connections. If it does, the statement goes on waiting, for a lock perhaps; if not, the connection is closed.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any, ClassVar, TypeVar

from psycopg import Connection, OperationalError
from psycopg.errors import ConnectionTimeout

ANSWER_SECONDS = 4.0  # without an answer, before the server is asked whether it is there
SILENT_SECONDS = 1.0  # that a server which did not answer is not tried again, so that a request fails once

Result = TypeVar("Result")


class BoundedConnection(Connection[Any]):
    """A connection whose statements end when the server is no longer there."""

    _arguments: tuple[str, dict[str, Any]] = ("", {})
    _silent: ClassVar[dict[str, float]] = {}  # addresses that did not answer, and until when they are not tried

    @classmethod
    def connect(cls, conninfo: str = "", **options: Any) -> BoundedConnection:
        """Connect to a server."""
        address = repr((conninfo, sorted(options.items())))
        if cls._silent.get(address, 0.0) > time.monotonic():
            raise ConnectionTimeout("the server did not answer a moment ago")
        try:
            opened = super().connect(conninfo, **options)
        except ConnectionTimeout:
            cls._silent[address] = time.monotonic() + SILENT_SECONDS
            raise
        opened._arguments = conninfo, options
        return opened

    def wait(self, gen: Generator[Any, Any, Result], *args: Any, **options: Any) -> Result:
        """Wait for an answer, as long as the server is there."""
        return super().wait(self._watch(gen), *args, **options)

    def _watch(self, gen: Generator[Any, Any, Result]) -> Generator[Any, Any, Result]:
        last = time.monotonic()
        try:
            state = next(gen)
            while True:
                ready = yield state
                if not ready and time.monotonic() - last > ANSWER_SECONDS:
                    if not self._is_server_there():
                        self.pgconn.finish()
                        raise OperationalError("the server does not answer")
                    last = time.monotonic()
                elif ready:
                    last = time.monotonic()
                state = gen.send(ready)
        except StopIteration as end:
            result: Result = end.value
            return result

    def _is_server_there(self) -> bool:
        conninfo, options = self._arguments
        try:
            self.connect(conninfo, **options).close()
        except ConnectionTimeout:
            return False
        except OperationalError:  # it is there and takes nobody, or it is gone, which this connection is told by TCP
            pass
        return True
