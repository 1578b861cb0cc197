"""What interfaces keep of their answers: by the key of a request, and as events of a stream (ppl-2)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress

from fabula.core.errors import FabulaError
from fabula.responses.keys import (
    RENEW_SECONDS,
    KeptResponse,
    KeyLease,
    claim_key,
    keep_response,
    mark_changes,
    release_key,
    renew_lease,
)
from fabula.responses.streams import (
    StreamEvent,
    StreamRecord,
    append_events,
    begin_stream,
    cancel_stream,
    close_stream,
    note_reader,
    read_stream,
)
from fabula.store.precondition import note_changes
from fabula.store.store import Store


class ResponseLog:
    """The answers that a store keeps for a while."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def claim(self, user: str, key: str, fingerprint: str) -> KeptResponse | KeyLease:
        """Take a key for a request; return the answer if it was done already."""
        with self._store.write(user=user) as tx:
            return claim_key(tx, key, fingerprint)

    @asynccontextmanager
    async def hold(self, user: str, lease: KeyLease) -> AsyncIterator[None]:
        """Renew the lease of a key while the block runs, and mark in each change inside it that there was one."""

        def renew() -> None:
            with suppress(FabulaError), self._store.write(user=user) as tx:  # a store that is away is asked again
                renew_lease(tx, lease)

        async def go_on() -> None:
            while True:
                await asyncio.sleep(RENEW_SECONDS)
                await asyncio.to_thread(renew)

        renewing = asyncio.create_task(go_on())
        try:
            with note_changes(user, lambda tx: mark_changes(tx, lease)):
                yield
        finally:
            renewing.cancel()

    def keep(self, user: str, lease: KeyLease, kept: KeptResponse) -> None:
        """Keep the answer to the request of a key."""
        with self._store.write(user=user) as tx:
            keep_response(tx, lease, kept)

    def release(self, user: str, lease: KeyLease) -> None:
        """Give a key back, because its request was refused."""
        with self._store.write(user=user) as tx:
            release_key(tx, lease)

    def begin_stream(self, project_id: str, user: str, verb: str) -> str:
        """Begin a stream of a verb and return its id."""
        with self._store.write(project=project_id) as tx:
            return begin_stream(tx, user, verb)

    def append(self, project_id: str, stream_id: str, events: Iterable[StreamEvent], *, ended: bool = False) -> bool:
        """Keep events of a stream; return whether it may go on."""
        with self._store.write(project=project_id) as tx:
            return append_events(tx, stream_id, events, ended=ended)

    def close_stream(self, project_id: str, stream_id: str, problem: str, *, unchanged_since: str, after: int) -> None:
        """End a stream whose writer is gone with a problem, unless it was heard of meanwhile."""
        with self._store.write(project=project_id) as tx:
            close_stream(tx, stream_id, problem, unchanged_since=unchanged_since, after=after)

    def note_reader(self, project_id: str, stream_id: str) -> None:
        """Let the writer of a stream know that somebody reads it in another process."""
        with self._store.write(project=project_id) as tx:
            note_reader(tx, stream_id)

    def cancel_stream(self, project_id: str, stream_id: str) -> None:
        """Ask whoever writes a stream to stop."""
        with self._store.write(project=project_id) as tx:
            cancel_stream(tx, stream_id)

    def read_stream(self, project_id: str, stream_id: str, after: int = 0) -> tuple[StreamRecord, list[StreamEvent]]:
        """Return a stream and its events behind a number."""
        with self._store.read(project=project_id) as reading:
            return read_stream(reading, stream_id, after)
