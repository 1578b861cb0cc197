"""Search of messages: an index by time, and on SQLite an index of three characters each (FTS5)."""

from __future__ import annotations

from alembic import op
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

revision = "0017"
down_revision = "0016"

# Two blanks at the end let every character begin a group of three, so one or two characters are found too.
_CHANGES = {
    "insert": ("AFTER INSERT", "INSERT INTO message_trigrams(rowid, content) VALUES (new.rowid, new.content || '  ');"),
    "delete": (
        "AFTER DELETE",
        "INSERT INTO message_trigrams(message_trigrams, rowid, content) "
        "VALUES ('delete', old.rowid, old.content || '  ');",
    ),
}


def upgrade() -> None:
    """Index the messages that there are; triggers keep the index true, whoever writes a message."""
    op.create_index("ix_messages_at", "messages", ["project_id", "at", "number"], if_not_exists=True)
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        return
    options = "content, content='', tokenize='trigram', detail='none', columnsize=0"
    try:
        with connection.begin_nested():
            connection.execute(text(f"CREATE VIRTUAL TABLE IF NOT EXISTS message_trigrams USING fts5({options})"))
    except DBAPIError:
        return  # this SQLite has no FTS5, or no trigrams: messages are read one by one
    connection.execute(
        text("CREATE VIRTUAL TABLE IF NOT EXISTS message_terms USING fts5vocab(message_trigrams, 'instance')")
    )
    connection.execute(text("INSERT INTO message_trigrams(message_trigrams) VALUES ('delete-all')"))
    connection.execute(text("INSERT INTO message_trigrams(rowid, content) SELECT rowid, content || '  ' FROM messages"))
    statements = {name: (when, act) for name, (when, act) in _CHANGES.items()}
    both = f"{_CHANGES['delete'][1]} {_CHANGES['insert'][1]}"
    statements["update"] = ("AFTER UPDATE OF content", both)
    for name, (when, act) in statements.items():
        connection.execute(
            text(f"CREATE TRIGGER IF NOT EXISTS message_trigrams_{name} {when} ON messages BEGIN {act} END")
        )
