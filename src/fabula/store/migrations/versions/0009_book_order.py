"""The order of the books of a series."""

from __future__ import annotations

from fabula.store.migrations.columns import add_columns

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """One column of the projects."""
    add_columns("projects", book_order="[]")
