"""What a memory rests on, and what became of texts that were offered."""

from __future__ import annotations

from fabula.store.migrations.columns import add_columns, columns, create_table

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Four columns of both memories, and a table."""
    for table in ("memories", "user_memories"):
        add_columns(table, origin="said", agreeing=0, against=0, seen="")
    create_table(
        "outcomes",
        columns(
            skill="",
            offered="",
            fate="accepted",
            became="",
            at_document=str | None,
            at_offset=int | None,
            recalled="[]",
            made="",
        ),
    )
