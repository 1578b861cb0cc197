"""Streams whose events are kept for a while, so that a reader who lost the connection goes on where it was.

The id of a stream begins with the verb that makes its events, because whoever follows it needs the right of that verb.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from msgspec import Struct
from sqlalchemy import and_

from fabula.core.ids import current_timestamp, new_id
from fabula.responses.tables import stream_events, streams
from fabula.store.transaction import ReadTransaction, WriteTransaction

KEPT_MINUTES = 60  # after the last change of a stream


class StreamEvent(Struct, frozen=True):
    """One event of a stream: its number from 1 up, its kind, and its data as JSON."""

    number: int
    kind: str
    data: str


class StreamRecord(Struct, frozen=True):
    """A stream: whose it is, whether it is running, cancelled or ended, and when its writer was last heard of.

    `read_at` is when it was last read in another process than that of its writer.
    """

    id: str
    user: str
    state: str
    changed_at: str
    read_at: str = ""

    @property
    def verb(self) -> str:
        """The verb that makes the events; empty of a stream that an older version began."""
        return self.id.rpartition(".")[0]


def begin_stream(tx: WriteTransaction, user: str, verb: str) -> str:
    """Begin a stream of a verb and return its id; streams of an hour ago are removed."""
    oldest = (datetime.now(UTC) - timedelta(minutes=KEPT_MINUTES)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    old = [row.id for row in tx.rows(streams, streams.c.changed_at < oldest)]
    if old:
        tx.delete_rows(stream_events, stream_events.c.stream_id.in_(old))
        tx.delete_rows(streams, streams.c.id.in_(old))
    stream_id, now = f"{verb}.{new_id()}", current_timestamp()
    tx.insert(streams, {"id": stream_id, "user": user, "state": "running", "made_at": now, "changed_at": now})
    return stream_id


def append_events(tx: WriteTransaction, stream_id: str, events: Iterable[StreamEvent], *, ended: bool = False) -> bool:
    """Keep events of a stream; return whether it may go on."""
    rows = [{"stream_id": stream_id, "number": one.number, "kind": one.kind, "data": one.data} for one in events]
    if rows:
        tx.insert(stream_events, *rows)
    state = tx.require(streams, id=stream_id).state
    values = {"changed_at": current_timestamp(), "state": "ended" if ended else state}
    tx.update_rows(streams, values, streams.c.id == stream_id)
    return bool(state == "running")


def cancel_stream(tx: WriteTransaction, stream_id: str) -> None:
    """Ask whoever writes a stream to stop; one that has ended stays as it is."""
    tx.require(streams, id=stream_id)
    is_running = and_(streams.c.id == stream_id, streams.c.state == "running")
    tx.update_rows(streams, {"state": "cancelled"}, is_running)


def note_reader(tx: WriteTransaction, stream_id: str) -> None:
    """Let the writer of a stream know that somebody reads it in another process."""
    tx.update_rows(streams, {"read_at": current_timestamp()}, streams.c.id == stream_id)


def close_stream(tx: WriteTransaction, stream_id: str, problem: str, *, unchanged_since: str, after: int) -> None:
    """End a stream whose writer is gone, with a problem that says so, unless it was heard of meanwhile.

    The event comes behind those that are kept and behind `after`: a reader may have got more than was kept.
    """
    row = tx.require(streams, id=stream_id)
    if row.state == "ended" or row.changed_at != unchanged_since:
        return
    kept = tx.rows(stream_events, stream_events.c.stream_id == stream_id, only=("number",))
    number = max([after, *(one.number for one in kept)]) + 1
    append_events(tx, stream_id, [StreamEvent(number, "problem", problem)], ended=True)


def read_stream(reading: ReadTransaction, stream_id: str, after: int) -> tuple[StreamRecord, list[StreamEvent]]:
    """Return a stream and its events behind a number."""
    row = reading.require(streams, id=stream_id)
    later = and_(stream_events.c.stream_id == stream_id, stream_events.c.number > after)
    rows = reading.rows(stream_events, later, order=(stream_events.c.number,))
    events = [StreamEvent(one.number, one.kind, one.data) for one in rows]
    return StreamRecord(row.id, row.user, row.state, row.changed_at, row.read_at), events
