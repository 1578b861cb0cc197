"""Participants name the lorebook that their character card is kept with."""

from __future__ import annotations

from fabula.store.migrations.columns import add_columns

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """One column; the participants of before have no card."""
    add_columns("participants", card="")
