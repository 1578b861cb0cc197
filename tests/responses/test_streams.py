"""Events of streams: kept in order for an hour, of one project, until the stream ends or is cancelled."""

from __future__ import annotations

import pytest

from fabula.core.errors import FabulaError
from fabula.manuscript import projects
from fabula.responses.streams import StreamEvent, append_events, begin_stream, cancel_stream, read_stream
from fabula.responses.tables import stream_events, streams
from fabula.store.store import Store

EVENTS = [StreamEvent(number, "delta", f'{{"text": "{number}"}}') for number in range(1, 6)]


def test_events_are_read_behind_a_number(store: Store) -> None:
    project = projects.create(store, "Book")
    with store.write(project=project) as tx:
        stream = begin_stream(tx, "ann", "chat.send")
        assert append_events(tx, stream, EVENTS[:3])
        assert append_events(tx, stream, EVENTS[3:], ended=True)
    with store.read(project=project) as reading:
        record, events = read_stream(reading, stream, 2)
        assert (record.user, record.state, events) == ("ann", "ended", EVENTS[2:])
        with pytest.raises(FabulaError):
            read_stream(reading, "nothing", 0)
    other = projects.create(store, "Other")
    with store.read(project=other) as reading, pytest.raises(FabulaError):
        read_stream(reading, stream, 0)


def test_a_cancelled_stream_may_not_go_on_and_one_that_ended_stays_so(store: Store) -> None:
    project = projects.create(store, "Book")
    with store.write(project=project) as tx:
        running, ended = begin_stream(tx, "ann", "chat.send"), begin_stream(tx, "ann", "chat.send")
        append_events(tx, ended, [], ended=True)
        cancel_stream(tx, running)
        cancel_stream(tx, ended)
        assert not append_events(tx, running, EVENTS)
        assert read_stream(tx, ended, 0)[0].state == "ended"


def test_a_stream_is_removed_an_hour_after_its_last_event(store: Store) -> None:
    project = projects.create(store, "Book")
    with store.write(project=project) as tx:
        old = begin_stream(tx, "ann", "chat.send")
        append_events(tx, old, EVENTS)
        tx.update_rows(streams, {"changed_at": "2020-01-01T00:00:00.000000Z"})
        new = begin_stream(tx, "ann", "chat.send")
        assert [row.id for row in tx.rows(streams)] == [new]
        assert tx.count(stream_events) == 0
