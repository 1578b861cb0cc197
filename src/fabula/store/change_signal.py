"""Waits until some project may have changed, whichever process changed it.

PostgreSQL says so itself: each transaction that raises a project's version notifies a channel. SQLite has nothing of
the kind, so there the versions are read a few times a second. On PostgreSQL they are read every few seconds as well,
because a notification is lost where the connection was lost.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import Engine, func, select

from fabula.store.connections import SERVER_OPTIONS

if TYPE_CHECKING:
    from psycopg import Connection

CHANNEL = "fabula_changes"
POLL_SECONDS = 0.25  # between two looks at the versions on SQLite
CHECK_SECONDS = 5.0  # between two looks on PostgreSQL without a notification
_WAIT_SECONDS = 0.5  # after which a wait for a notification is interrupted, so that it can end
NOTIFY = select(func.pg_notify(CHANNEL, ""))  # equal notifications of one transaction are sent once, at its commit


class ChangeSignal(Protocol):
    """Waits until it is worth reading the versions of projects."""

    def wait(self, stopping: threading.Event) -> None: ...
    def close(self) -> None: ...


class PollSignal:
    """The signal of a store on SQLite: the time."""

    def wait(self, stopping: threading.Event) -> None:
        """Wait for a moment, or until this process stops."""
        stopping.wait(POLL_SECONDS)

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


class NotificationSignal:
    """The signal of a store on PostgreSQL: a connection that listens."""

    def __init__(self, engine: Engine) -> None:
        self._arguments, self._options = engine.dialect.create_connect_args(engine.url)
        self._connection: Connection[Any] | None = None

    def wait(self, stopping: threading.Event) -> None:
        """Wait for a notification; after a new connection nothing is waited for, as one may have been missed."""
        from psycopg import Error, connect

        try:
            if self._connection is None:
                options = {**self._options, **SERVER_OPTIONS}
                self._connection = connect(*self._arguments, **options, autocommit=True)
                self._connection.execute(f"LISTEN {CHANNEL}")
                return
            until = time.monotonic() + CHECK_SECONDS
            while not stopping.is_set() and time.monotonic() < until:
                if list(self._connection.notifies(timeout=_WAIT_SECONDS, stop_after=1)):
                    return
            self._connection.execute("SELECT 1")  # notices a connection that is open at this end alone
        except Error:
            self.close()
            stopping.wait(POLL_SECONDS)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
