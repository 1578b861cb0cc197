"""Constraints that a program can check, names that are learnt later, and what a rename changed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Two columns and a table."""
    op.add_column("constraints", sa.Column("check", sa.Text(), nullable=True))
    op.add_column("codex_progressions", sa.Column("aliases", sa.Text(), nullable=False, server_default="[]"))
    op.create_table(
        "renames",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("old", sa.Text(), nullable=False, server_default=""),
        sa.Column("new", sa.Text(), nullable=False, server_default=""),
        sa.Column("changes", sa.Text(), nullable=False, server_default="[]"),
        sa.Column("made", sa.Text(), nullable=False, server_default=""),
        sa.PrimaryKeyConstraint("project_id", "id", name="pk_renames"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.project_id"], ondelete="CASCADE", name="fk_renames_project_id"
        ),
    )
