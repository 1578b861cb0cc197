"""A number for each project, which no other project of the store ever gets."""

from __future__ import annotations

from alembic import op
from sqlalchemy import text

from fabula.store.migrations.columns import add_columns

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """One column; projects keep the numbers that lists showed so far."""
    add_columns("heads", number=0)
    connection = op.get_bind()
    rows = connection.execute(text("SELECT project_id FROM projects ORDER BY made, project_id")).all()
    for number, (project_id,) in enumerate(rows, start=1):
        values = {"number": number, "owner": f"project:{project_id}"}
        connection.execute(text("UPDATE heads SET number = :number WHERE owner = :owner"), values)
