"""Jobs: what is known of each, what they cost by month, and which kinds keep failing."""

from __future__ import annotations

from alembic import op

from fabula.store.migrations.columns import Big, add_columns, columns, create_table

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Columns of the jobs, another index, and two tables."""
    add_columns("jobs", latest="", note="", started="", ended="", again=0, stopping=0, spent=Big(0), micros=Big(0))
    op.drop_index("ix_jobs_due", "jobs")
    op.create_index("ix_jobs_take", "jobs", ["state", "kind", "due"])
    create_table("job_months", columns(tries=0, micros=Big(0)), key=("month", "kind"))
    create_table("job_breakers", columns(failures=0, open_until="", why=""), key=("kind",))
