"""States of modes are kept with the messages behind which they hold, and where deleted branches began.

States of before stay with their conversations; the first change of one keeps what was before it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from fabula.store.migrations.columns import add_columns

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    """Add the columns, and an index of the messages that keep a state."""
    add_columns("conversations", deleted_branches=str | None)
    add_columns("messages", mode_state=str | None)
    keeps_state = sa.text("mode_state IS NOT NULL")
    op.create_index(
        "ix_messages_states",
        "messages",
        ["project_id", "conversation_id", "number"],
        sqlite_where=keeps_state,
        postgresql_where=keeps_state,
    )
