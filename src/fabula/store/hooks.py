"""Hooks: functions that are called when the rows of a table change.

A hook before the commit runs in the transaction that makes the change, and is stored or rolled back with it. A hook
after the commit only tells this process that the change is stored; other processes are not told. Subscribers get the
events that a transaction announced, after its commit and in the order of commits; one that raises is logged and harms
nothing.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Any, TypeVar

from msgspec import Struct
from sqlalchemy import Table

from fabula.core.errors import describe_place
from fabula.store.transaction import WriteTransaction

TransactionHook = Callable[[WriteTransaction, Sequence[str]], None]  # the transaction, and the items it changed
CommitHook = Callable[[], None]
Event = TypeVar("Event")

log = logging.getLogger("fabula.store")


class QueuedEvents(Struct):
    """The events of a transaction; it is settled when it was committed, or was not."""

    events: list[Any]
    is_settled: bool = False


class Hooks:
    """The hooks of one open store, by table."""

    def __init__(self) -> None:
        self._before_commit: tuple[tuple[Table, TransactionHook], ...] = ()
        self._after_commit: tuple[tuple[Table, CommitHook], ...] = ()
        self._on_first_write: list[Callable[[], None]] = []
        self._subscribers: tuple[tuple[type, Callable[[Any], None]], ...] = ()
        self._queue: deque[QueuedEvents] = deque()  # in the order of commits
        self._is_telling = False
        self._lock = Lock()

    def on_first_write(self, connect: Callable[[], None]) -> None:
        """Call a function before the first transaction that writes, to add hooks that reading does not need."""
        self._on_first_write.append(connect)

    def prepare_write(self) -> None:
        """Add the hooks that wait for the first write."""
        while self._on_first_write:
            self._on_first_write.pop()()

    def add_before_commit(self, table: Table, hook: TransactionHook) -> None:
        """Call the hook in every transaction that changes the table. Adding it twice has no further effect."""
        if (table, hook) not in self._before_commit:
            self._before_commit = (*self._before_commit, (table, hook))

    def add_after_commit(self, table: Table, hook: CommitHook) -> None:
        """Call the hook when a change of the table was committed."""
        self._after_commit = (*self._after_commit, (table, hook))

    def remove_after_commit(self, hook: CommitHook) -> None:
        """Call this hook no more."""
        self._after_commit = tuple(pair for pair in self._after_commit if pair[1] != hook)

    def subscribe(self, kind: type[Event], listener: Callable[[Event], None]) -> Callable[[], None]:
        """Call a listener with every event of a kind once its transaction is committed; return what ends that."""
        subscription = (kind, listener)
        self._subscribers = (*self._subscribers, subscription)

        def end() -> None:
            self._subscribers = tuple(one for one in self._subscribers if one is not subscription)

        return end

    def run_before_commit(self, tx: WriteTransaction) -> None:
        """Call the hooks of the tables that a transaction has changed, before it is committed."""
        for table, hook in self._before_commit:
            if items := tx.changed_items(table):
                hook(tx, items)

    def run_after_commit(self, tx: WriteTransaction) -> None:
        """Call the hooks of the tables that a committed transaction has changed."""
        for table, hook in self._after_commit:
            if tx.changed_items(table):
                hook()

    def queue_events(self, transactions: Iterable[WriteTransaction]) -> QueuedEvents:
        """Queue the events of transactions that are about to be committed: they are told in the order of commits."""
        queued = QueuedEvents([event for tx in transactions for event in tx.events])
        if queued.events:
            with self._lock:
                self._queue.append(queued)
        return queued

    def withdraw_events(self, queued: QueuedEvents) -> None:
        """Tell nobody of a transaction that was not committed."""
        queued.events.clear()
        self.tell_events(queued)

    def tell_events(self, queued: QueuedEvents) -> None:
        """Tell the subscribers of a transaction that is committed, and of those that waited for it."""
        queued.is_settled = True
        while (found := self._take_queued()) is not None:
            try:
                for event in found.events:
                    self._tell(event)
            finally:
                self._is_telling = False

    def _take_queued(self) -> QueuedEvents | None:
        """Take the first transaction of the queue, unless it is not committed yet or another thread is telling one."""
        with self._lock:
            if self._is_telling or not self._queue or not self._queue[0].is_settled:
                return None
            self._is_telling = True
            return self._queue.popleft()

    def _tell(self, event: object) -> None:
        for kind, listener in self._subscribers:
            if isinstance(event, kind):
                try:
                    listener(event)
                except Exception as error:
                    log.error("a subscriber to %s failed: %s", kind.__name__, describe_place(error))
