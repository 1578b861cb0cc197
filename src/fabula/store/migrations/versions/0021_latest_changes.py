"""The latest changes of an owner are kept beside its version, with the time of the last one."""

from __future__ import annotations

from alembic import op

from fabula.store.migrations.columns import add_columns

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Add both columns; rows of the change feed stay where they are."""
    add_columns("heads", latest="", changed="")
    op.execute(
        "UPDATE heads SET changed = coalesce((SELECT max(at) FROM changes WHERE changes.owner = heads.owner), '')"
    )
