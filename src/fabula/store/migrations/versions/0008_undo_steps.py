"""Steps that can be undone."""

from __future__ import annotations

from fabula.store.migrations.columns import columns, create_table

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """One table."""
    described = columns(number=int, label="{}", person="", rows=str | None, size=0, undone=0, made="")
    create_table("undo_steps", described, key=("number",))
