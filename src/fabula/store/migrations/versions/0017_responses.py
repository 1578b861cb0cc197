"""Answers by idempotency key, and streams with their events."""

from __future__ import annotations

from fabula.store.migrations.columns import columns, create_table

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Three tables."""
    kept = columns(fingerprint="", status=0, headers="{}", body="", made_at="")
    create_table("request_keys", kept, key=("key",), owner="user_id")
    create_table("streams", columns(id=str, user="", state="", made_at="", changed_at=""))
    create_table("stream_events", columns(number=int, kind="", data=""), key=("stream_id", "number"))
