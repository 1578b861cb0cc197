"""A key of a request is held for a while by whoever answers it, and wrong passwords have a table of their own."""

from __future__ import annotations

from alembic import op

from fabula.store.migrations.columns import add_columns, columns, create_table

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Add the columns and the table; of a request without an answer nobody knows any more whether it was done."""
    add_columns("request_keys", holder="", held_until="", has_changes=0)
    op.execute("UPDATE request_keys SET has_changes = 1 WHERE status = 0")
    create_table("sign_in_failures", columns(id=str, account="", made="", until=""), key=("id",), owner="user_id")
    op.execute(
        "INSERT INTO sign_in_failures (user_id, id, account, made, until) "
        "SELECT user_id, substr(id, 9), substr(person, 9), made, until FROM sessions WHERE id LIKE 'failure:%'"
    )
    op.execute("DELETE FROM sessions WHERE id LIKE 'failure:%'")
