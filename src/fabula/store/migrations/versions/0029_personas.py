"""The personas that participants had before."""

from __future__ import annotations

from fabula.store.migrations.columns import columns, create_table

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    """One table; what a participant was before this version is not known."""
    create_table(
        "personas",
        columns(participant_id=str, revision=int, persona="", replaced=""),
        key=("participant_id", "revision"),
        references={"participant_id": "participants"},
    )
