"""Tables of access. Their rows belong to the owner of the store, stay out of saves, and hold hashes, never secrets."""

from __future__ import annotations

from sqlalchemy import Column, Text

from fabula.store.schema import TableInfo, json_column, text_column, timestamp_columns, user_table, version_column

people = user_table(
    "people",
    TableInfo(area="people", owner="user", in_saves=False, tracked=False),
    Column("id", Text, nullable=False),
    text_column("name"),
    text_column("password"),  # the hash; empty where somebody signs in by other means
    json_column("memberships", "{}"),
    *timestamp_columns(),
    version_column(),
)

api_keys = user_table(
    "api_keys",
    TableInfo(area="people", owner="user", in_saves=False, tracked=False),
    Column("id", Text, nullable=False),
    text_column("person"),
    text_column("label"),
    text_column("secret"),  # the hash
    json_column("projects", None),
    json_column("rights", None),
    json_column("verbs", None),
    text_column("made"),
    text_column("revoked", None),
)

sessions = user_table(
    "sessions",
    TableInfo(area="people", owner="user", in_saves=False, tracked=False),
    Column("id", Text, nullable=False),  # the hash of the secret in the cookie, or of a link's code
    text_column("person"),
    text_column("made"),
    text_column("until"),
)

sign_in_failures = user_table(
    "sign_in_failures",
    TableInfo(area="people", owner="user", in_saves=False, tracked=False),
    Column("id", Text, nullable=False),
    text_column("account"),  # the hash of its name, which need not be that of an account, and of an address
    text_column("made"),
    text_column("until"),
)
