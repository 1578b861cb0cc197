"""Tables of answers by idempotency key, of streams, and of their events."""

from __future__ import annotations

from sqlalchemy import Column, Integer, Text

from fabula.store.schema import TableInfo, integer_column, json_column, project_table, text_column, user_table

AREA = "responses"

request_keys = user_table(
    "request_keys",
    TableInfo(area=AREA, owner="user", item="key", in_saves=False, tracked=False, across_projects=True),
    Column("key", Text, nullable=False),
    text_column("fingerprint"),
    integer_column("status"),  # 0 while the request is running
    json_column("headers", "{}"),
    text_column("body"),
    text_column("made_at"),
    text_column("holder"),  # who answers the request
    text_column("held_until"),  # by then the holder has renewed its lease, or is gone
    integer_column("has_changes"),  # 1 when the request has changed something
    key=("key",),
)

streams = project_table(
    "streams",
    TableInfo(area=AREA, owner="project", item="id", in_saves=False, tracked=False),
    Column("id", Text, nullable=False),
    text_column("user"),
    text_column("state"),  # running, cancelled or ended
    text_column("made_at"),
    text_column("changed_at"),
    text_column("read_at"),  # when somebody last read it in another process than the one that writes it
)

stream_events = project_table(
    "stream_events",
    TableInfo(area=AREA, owner="project", item="stream_id", in_saves=False, tracked=False),
    Column("stream_id", Text, nullable=False),
    Column("number", Integer, nullable=False),
    text_column("kind"),
    text_column("data"),
    key=("stream_id", "number"),
)
