"""Constraints that a program can check, names that are learnt later, and what a rename changed."""

from __future__ import annotations

from fabula.store.migrations.columns import add_columns, columns, create_table

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Two columns and a table."""
    add_columns("constraints", check=str | None)
    add_columns("codex_progressions", aliases="[]")
    create_table("renames", columns(old="", new="", changes="[]", made=""))
