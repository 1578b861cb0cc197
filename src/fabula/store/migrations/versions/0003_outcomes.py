"""What a memory rests on, and what became of texts that were offered."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Four columns of both memories, and a table."""
    for table in ("memories", "user_memories"):
        op.add_column(table, sa.Column("origin", sa.Text(), nullable=False, server_default="said"))
        op.add_column(table, sa.Column("agreeing", sa.Integer(), nullable=False, server_default="0"))
        op.add_column(table, sa.Column("against", sa.Integer(), nullable=False, server_default="0"))
        op.add_column(table, sa.Column("seen", sa.Text(), nullable=False, server_default=""))
    op.create_table(
        "outcomes",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("skill", sa.Text(), nullable=False, server_default=""),
        sa.Column("offered", sa.Text(), nullable=False, server_default=""),
        sa.Column("fate", sa.Text(), nullable=False, server_default="accepted"),
        sa.Column("became", sa.Text(), nullable=False, server_default=""),
        sa.Column("at_document", sa.Text(), nullable=True),
        sa.Column("at_offset", sa.Integer(), nullable=True),
        sa.Column("recalled", sa.Text(), nullable=False, server_default="[]"),
        sa.Column("made", sa.Text(), nullable=False, server_default=""),
        sa.PrimaryKeyConstraint("project_id", "id", name="pk_outcomes"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.project_id"], ondelete="CASCADE", name="fk_outcomes_project_id"
        ),
    )
