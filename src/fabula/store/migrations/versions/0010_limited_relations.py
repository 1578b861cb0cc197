"""From when until when a relation holds, and who may know it."""

from __future__ import annotations

from fabula.store.migrations.columns import SINCE, UNTIL, add_columns

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Columns of the relations."""
    add_columns("codex_relations", **SINCE, **UNTIL, known_to=str | None)
