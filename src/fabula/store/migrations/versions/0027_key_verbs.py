"""A key of a program may name single verbs beside its rights."""

from __future__ import annotations

from fabula.store.migrations.columns import add_columns

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    """One column; keys of older stores name none."""
    add_columns("api_keys", verbs=str | None)
