"""A slug for each project, which no other project of the store has, by which chat requests find it."""

from __future__ import annotations

import re
import unicodedata

from alembic import op
from sqlalchemy import text

from fabula.store.migrations.columns import add_columns

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    """One column; projects get the slugs of their titles, and a number behind it where an older one has that slug."""
    add_columns("heads", slug="")
    connection = op.get_bind()
    ordered = "FROM projects JOIN heads ON owner = 'project:' || project_id ORDER BY number, project_id"
    taken: set[str] = set()
    for project_id, title in connection.execute(text(f"SELECT project_id, title {ordered}")).all():
        plain = unicodedata.normalize("NFC", title).lower()
        slug = first = re.sub(r"[\W_]+", "-", plain).strip("-")[:40].rstrip("-") or "project"
        number = 1
        while slug in taken:
            number += 1
            slug = f"{first}-{number}"
        taken.add(slug)
        values = {"slug": slug, "owner": f"project:{project_id}"}
        connection.execute(text("UPDATE heads SET slug = :slug WHERE owner = :owner"), values)
