"""Fewer pages for a new message: the change feed without row numbers, conversations by key without the time."""

from __future__ import annotations

from alembic import op

from fabula.store.migrations.columns import Big, Name, columns, create_table

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Make the index anew and, on SQLite, the change feed, with all of its rows."""
    op.drop_index("ix_conversations_key", "conversations", if_exists=True)
    op.create_index("ix_conversations_key", "conversations", ["project_id", "conv_key"])
    if op.get_context().dialect.name == "sqlite":
        op.rename_table("changes", "older_changes")
        create_table(
            "changes",
            columns(owner=Name, version=Big, room=Name, item=Name, at=""),
            key=("owner", "version", "room", "item"),
            owner=None,
            sqlite_with_rowid=False,
        )
        op.execute("INSERT INTO changes SELECT owner, version, room, item, at FROM older_changes")
        op.drop_table("older_changes")
