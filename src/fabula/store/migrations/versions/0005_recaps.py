"""Recaps: which rounds each tells, who wrote it, and from which round on more may be due."""

from __future__ import annotations

from alembic import op

from fabula.store.migrations.columns import add_columns

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Columns of conversations and of what is made of them, and an index for each of the latter."""
    add_columns("conversations", recap_due=0)
    add_columns("summaries", stacked=0)
    for table in ("summaries", "recaps"):
        add_columns(table, rounds="[]", origin="model")
        op.create_index(f"ix_{table}_conversation", table, ["project_id", "conversation_id"])
