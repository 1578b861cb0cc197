"""The store's own tables: whose things there are, at which version they stand, and what changed."""

from __future__ import annotations

from typing import Literal

from sqlalchemy import BigInteger, Column, PrimaryKeyConstraint, String, Table

from fabula.core.errors import Code
from fabula.core.view import Language
from fabula.store.schema import METADATA, About, packed, text, times, version

projects = Table(
    "projects",
    METADATA,
    Column("project_id", String, primary_key=True),
    text("kind", "book", info={"holds": Literal["book", "series"]}),  # a series is one whose codex its books share
    text("series_id", None),
    text("title"),
    text("language", "en", info={"holds": Language}),
    text("identity"),
    packed("direction", "{}"),
    *times(),
    version(),
    info={
        "about": About(
            room="project",
            owner="project",
            missing=Code.PROJECT_NOT_FOUND,
        )
    },
)

heads = Table(
    "heads",
    METADATA,
    Column("owner", String, primary_key=True),  # project:ID or user:ID
    Column("version", BigInteger, nullable=False),
)

changes = Table(
    "changes",
    METADATA,
    Column("owner", String, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("room", String, nullable=False),
    Column("item", String, nullable=False),
    text("at"),
    PrimaryKeyConstraint("owner", "version", "room", "item"),
)
