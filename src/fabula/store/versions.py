"""Heads: at which versions owners stand, asked as quickly as each engine can be asked.

This is the one question of a warm request, so it goes past all machinery to the plain driver: on SQLite
through a connection a thread, which answers in microseconds; on PostgreSQL through a few connections of
its own and a prepared statement. A server that was away in the meantime is asked once more.
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import Engine

from fabula.core.errors import Code, FabulaError
from fabula.store.connections import BUSY_SECONDS, SERVER
from fabula.store.database_errors import explained, in_words

if TYPE_CHECKING:
    from psycopg import Connection


class Heads(Protocol):
    """Asks at which versions owners stand, as quickly as the engine can be asked."""

    def __call__(self, owners: Sequence[str]) -> list[int]: ...
    def close(self) -> None: ...


class _Plain:
    """A plain connection, closed when the thread that used it is gone."""

    def __init__(self, file: Path) -> None:
        self.connection = sqlite3.connect(file, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)

    def __del__(self) -> None:
        if hasattr(self, "connection"):
            self.connection.close()


class SqliteHeads:
    """One plain connection a thread: a point query takes microseconds, where the full machinery takes a hundred."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._own = threading.local()
        self._all: weakref.WeakSet[_Plain] = weakref.WeakSet()
        self._lock = threading.Lock()

    def __call__(self, owners: Sequence[str]) -> list[int]:
        """Their versions; 0 for those nobody has heard of."""
        connection = (getattr(self._own, "plain", None) or self._connect()).connection
        marks = ", ".join("?" * len(owners))
        query = f"SELECT owner, version FROM heads WHERE owner IN ({marks})"
        try:
            found = dict(connection.execute(query, owners).fetchall())
        except sqlite3.Error as error:
            raise explained(error) from error
        return [found.get(owner, 0) for owner in owners]

    def _connect(self) -> _Plain:
        with in_words():
            plain = _Plain(self._file)
        with self._lock:
            self._all.add(plain)
        self._own.plain = plain
        return plain

    def close(self) -> None:
        """Let go of every thread's connection."""
        with self._lock:
            for plain in self._all:
                plain.connection.close()
            self._all.clear()
        self._own = threading.local()


class ServerHeads:
    """A few connections of its own, outside any transaction."""

    _ASK = "SELECT owner, version FROM heads WHERE owner = ANY(%s)"
    _KEPT = 8

    def __init__(self, engine: Engine) -> None:
        self._words, self._options = engine.dialect.create_connect_args(engine.url)
        self._idle: list[Connection[Any]] = []

    def __call__(self, owners: Sequence[str]) -> list[int]:
        """Their versions; 0 for those nobody has heard of."""
        from psycopg import Error, OperationalError

        wanted = list(owners)
        try:
            try:
                found = self._ask(wanted, fresh=False)
            except OperationalError:
                found = self._ask(wanted, fresh=True)
        except OperationalError as error:
            raise FabulaError(
                Code.STORE_UNREACHABLE,
                "The database does not answer. Check that it runs and that its address is right; "
                "the next try connects anew. Nothing was changed.",
            ) from error
        except Error as error:
            raise explained(error) from error
        return [found.get(owner, 0) for owner in owners]

    def _ask(self, owners: list[str], *, fresh: bool) -> dict[str, int]:
        if fresh:
            self.close()
        connection = self._taken()
        try:
            found = dict(connection.execute(self._ASK, (owners,), prepare=True).fetchall())
        except BaseException:
            connection.close()
            raise
        if len(self._idle) < self._KEPT:
            self._idle.append(connection)
        else:
            connection.close()
        return found

    def _taken(self) -> Connection[Any]:
        try:
            return self._idle.pop()
        except IndexError:
            from psycopg import connect

            return connect(*self._words, **{**self._options, **SERVER}, autocommit=True)

    def close(self) -> None:
        """Let go of the connections nobody is using."""
        while self._idle:
            self._idle.pop().close()
