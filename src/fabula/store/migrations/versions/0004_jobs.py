"""Jobs: what is known of each, what they cost by month, and which kinds keep failing."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Columns of the jobs, another index, and two tables."""
    for name in ("latest", "note", "started", "ended"):
        op.add_column("jobs", sa.Column(name, sa.Text(), nullable=False, server_default=""))
    for name in ("again", "stopping"):
        op.add_column("jobs", sa.Column(name, sa.Integer(), nullable=False, server_default="0"))
    for name in ("spent", "micros"):
        op.add_column("jobs", sa.Column(name, sa.BigInteger(), nullable=False, server_default="0"))
    op.drop_index("ix_jobs_due", "jobs")
    op.create_index("ix_jobs_take", "jobs", ["state", "kind", "due"])
    op.create_table(
        "job_months",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("month", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("micros", sa.BigInteger(), nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("project_id", "month", "kind", name="pk_job_months"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.project_id"], ondelete="CASCADE", name="fk_job_months_project_id"
        ),
    )
    op.create_table(
        "job_breakers",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("open_until", sa.Text(), nullable=False, server_default=""),
        sa.Column("why", sa.Text(), nullable=False, server_default=""),
        sa.PrimaryKeyConstraint("project_id", "kind", name="pk_job_breakers"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.project_id"], ondelete="CASCADE", name="fk_job_breakers_project_id"
        ),
    )
