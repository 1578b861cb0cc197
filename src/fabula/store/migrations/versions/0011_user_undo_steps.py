"""Changes of a person's own things that can be undone."""

from __future__ import annotations

from fabula.store.migrations.columns import columns, create_table

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """One table."""
    described = columns(number=int, label="{}", person="", rows=str | None, size=0, undone=0, made="")
    create_table("user_undo_steps", described, key=("number",), owner="user_id")
