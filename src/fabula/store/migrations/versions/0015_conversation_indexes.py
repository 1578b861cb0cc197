"""Indexes of conversations: by participant, by the time of the last change, and messages by their parent."""

from __future__ import annotations

from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Indexes only; the one by key now also has the time."""
    op.drop_index("ix_conversations_key", "conversations", if_exists=True)
    for name, table, columns in (
        ("ix_conversations_key", "conversations", ["conv_key", "changed"]),
        ("ix_conversations_changed", "conversations", ["changed"]),
        ("ix_presence_participant", "presence", ["participant_id", "conversation_id"]),
        ("ix_messages_parent", "messages", ["conversation_id", "parent_id"]),
    ):
        op.create_index(name, table, ["project_id", *columns], if_not_exists=True)
