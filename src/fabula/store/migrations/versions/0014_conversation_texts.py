"""Conversations: the round that a message begins, its size, what is pinned of it, and what a recap was made from."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from fabula.store.migrations.columns import add_columns

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the columns, and number the rounds of the messages that there are."""
    add_columns("fixed_prompts", private=0)
    add_columns("conversations", tokens=0, said_due=0, tokens_due=0)
    add_columns("messages", round=0, tokens=0, pinned=str | None)
    for table in ("summaries", "recaps"):
        add_columns(table, heard="[]")
    op.execute(
        sa.text(
            "UPDATE messages SET round = numbered.round FROM (SELECT project_id, id, row_number() OVER "
            "(PARTITION BY project_id, conversation_id ORDER BY number) AS round FROM messages WHERE kind = 'user') "
            "AS numbered WHERE messages.project_id = numbered.project_id AND messages.id = numbered.id"
        )
    )
