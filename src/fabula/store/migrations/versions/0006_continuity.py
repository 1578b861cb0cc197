"""Stored continuity, the last prefix hashes, assemblies that wait for their answer; unknown fields of presets go."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

from fabula.store.migrations.columns import columns, create_table
from fabula.store.old_presets import remove_unknown_fields

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Three tables, and the presets."""
    create_table("continuity", columns(family="", value="", used_at="", format=0), key=("key",))
    create_table("prefixes", columns(prefix_hash="", used_at=""), key=("key",))
    create_table("assemblies", columns(key="", family="", value="", made_at="", format=0))
    _clean_presets()


def _clean_presets() -> None:
    connection = op.get_bind()
    presets = sa.table("presets", sa.column("project_id"), sa.column("id"), sa.column("nodes"))
    for row in connection.execute(sa.select(presets)).all():
        try:
            nodes = json.loads(row.nodes)
        except (ValueError, RecursionError):
            continue
        cleaned = remove_unknown_fields(nodes)
        if cleaned != nodes:
            where = (presets.c.project_id == row.project_id, presets.c.id == row.id)
            connection.execute(sa.update(presets).where(*where).values(nodes=json.dumps(cleaned, ensure_ascii=False)))
