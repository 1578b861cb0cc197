"""What interfaces keep of their answers: by the key of a request, and as events of a stream (ppl-2)."""

from __future__ import annotations

from collections.abc import Iterable

from fabula.responses.keys import KeptResponse, claim_key, keep_response, release_key
from fabula.responses.streams import (
    StreamEvent,
    StreamRecord,
    append_events,
    begin_stream,
    cancel_stream,
    close_stream,
    read_stream,
)
from fabula.store.store import Store


class ResponseLog:
    """The answers that a store keeps for a while."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def claim(self, user: str, key: str, fingerprint: str) -> KeptResponse | None:
        """Take a key for a request; return the answer if it was done already."""
        with self._store.write(user=user) as tx:
            return claim_key(tx, key, fingerprint)

    def keep(self, user: str, key: str, kept: KeptResponse) -> None:
        """Keep the answer to the request of a key."""
        with self._store.write(user=user) as tx:
            keep_response(tx, key, kept)

    def release(self, user: str, key: str) -> None:
        """Give a key back, because its request was refused."""
        with self._store.write(user=user) as tx:
            release_key(tx, key)

    def begin_stream(self, project_id: str, user: str) -> str:
        """Begin a stream and return its id."""
        with self._store.write(project=project_id) as tx:
            return begin_stream(tx, user)

    def append(self, project_id: str, stream_id: str, events: Iterable[StreamEvent], *, ended: bool = False) -> bool:
        """Keep events of a stream; return whether it may go on."""
        with self._store.write(project=project_id) as tx:
            return append_events(tx, stream_id, events, ended=ended)

    def close_stream(self, project_id: str, stream_id: str, *, unchanged_since: str, after: int) -> None:
        """End a stream whose writer is gone, unless it was heard of meanwhile."""
        with self._store.write(project=project_id) as tx:
            close_stream(tx, stream_id, unchanged_since=unchanged_since, after=after)

    def cancel_stream(self, project_id: str, stream_id: str) -> None:
        """Ask whoever writes a stream to stop."""
        with self._store.write(project=project_id) as tx:
            cancel_stream(tx, stream_id)

    def read_stream(self, project_id: str, stream_id: str, after: int = 0) -> tuple[StreamRecord, list[StreamEvent]]:
        """Return a stream and its events behind a number."""
        with self._store.read(project=project_id) as reading:
            return read_stream(reading, stream_id, after)
