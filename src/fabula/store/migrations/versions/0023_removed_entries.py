"""The names of entries that were removed from the codex."""

from __future__ import annotations

from fabula.store.migrations.columns import columns, create_table

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    """One table; nothing is known of what was removed before."""
    create_table("codex_removed", columns(id=str, name="", removed=""))
