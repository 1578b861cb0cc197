"""Recaps: which rounds each tells, who wrote it, and from which round on more may be due."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Columns of conversations and of what is made of them, and an index for each of the latter."""
    op.add_column("conversations", sa.Column("recap_due", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("summaries", sa.Column("stacked", sa.Integer(), nullable=False, server_default="0"))
    for table in ("summaries", "recaps"):
        op.add_column(table, sa.Column("rounds", sa.Text(), nullable=False, server_default="[]"))
        op.add_column(table, sa.Column("origin", sa.Text(), nullable=False, server_default="model"))
        op.create_index(f"ix_{table}_conversation", table, ["project_id", "conversation_id"])
