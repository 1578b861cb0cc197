"""Runs and renames in the order they were made, whatever the clock said."""

from __future__ import annotations

from fabula.store.migrations.columns import Big, add_columns

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """One column of each; older rows have 0 and are ordered by their time."""
    for table in ("runs", "renames"):
        add_columns(table, number=Big(0))
