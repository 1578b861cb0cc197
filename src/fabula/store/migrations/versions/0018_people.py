"""People, keys of programs, and sessions."""

from __future__ import annotations

from fabula.store.migrations.columns import columns, create_table

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Three tables, whose rows belong to the owner of the store."""
    person = columns(id=str, name="", password="", memberships="{}", made="", changed="", version=1)
    create_table("people", person, key=("id",), owner="user_id")
    key = columns(
        id=str, person="", label="", secret="", projects=str | None, rights=str | None, made="", revoked=str | None
    )
    create_table("api_keys", key, key=("id",), owner="user_id")
    create_table("sessions", columns(id=str, person="", made="", until=""), key=("id",), owner="user_id")
