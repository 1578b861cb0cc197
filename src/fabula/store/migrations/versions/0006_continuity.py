"""Stored continuity, the last prefix hashes, assemblies that wait for their answer; unknown fields of presets go."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

from fabula.store.old_presets import remove_unknown_fields

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Three tables, and the presets."""
    _create("continuity", "key", "family", "value", "used_at", encoded=True)
    _create("prefixes", "key", "prefix_hash", "used_at")
    _create("assemblies", "id", "key", "family", "value", "made_at", encoded=True)
    _clean_presets()


def _create(name: str, key: str, *texts: str, encoded: bool = False) -> None:
    columns: list[sa.Column[Any]] = [sa.Column(text, sa.Text(), nullable=False, server_default="") for text in texts]
    if encoded:
        columns.append(sa.Column("format", sa.Integer(), nullable=False, server_default="0"))
    op.create_table(
        name,
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column(key, sa.Text(), nullable=False),
        *columns,
        sa.PrimaryKeyConstraint("project_id", key, name=f"pk_{name}"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.project_id"], ondelete="CASCADE", name=f"fk_{name}_project_id"
        ),
    )


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
