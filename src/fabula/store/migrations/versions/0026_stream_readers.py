"""Whoever reads a stream in another process than the one that writes it says so, or the writer would stop."""

from __future__ import annotations

from fabula.store.migrations.columns import add_columns

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Add the column; nobody has said so yet."""
    add_columns("streams", read_at="")
