"""Memories of a store from before outcomes existed are migrated as stated ones."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import text

import fabula
from fabula.memory import edits
from fabula.memory.model import MemoryOrigin, MemoryScope
from fabula.memory.outcomes import list_outcomes
from fabula.store.schema import METADATA, all_tables
from fabula.store.store import Store
from fabula.store.upgrade import LATEST_VERSION, find_schema_version

ROWS = (
    "INSERT INTO projects (project_id, title) VALUES ('old', 'Old')",
    "INSERT INTO memories (project_id, id, text, confidence) VALUES ('old', 'fog', 'Likes fog.', 0.7)",
    "INSERT INTO user_memories (user_id, id, text, confidence) VALUES ('ada', 'fog', 'Likes fog.', 0.7)",
)


def test_memories_come_along_and_can_be_learnt_about(address: str, store: Store) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(fabula.__file__).parent / "store" / "migrations"))
    all_tables()  # every room has declared its own
    with store.engine.begin() as connection:
        METADATA.drop_all(connection)
        connection.execute(text("DELETE FROM alembic_version"))
        config.attributes["connection"] = connection
        command.upgrade(config, "0002")
        for row in ROWS:
            connection.execute(text(row))
    newer = Store.open(address)
    with newer.engine.connect() as connection:
        assert find_schema_version(connection) == LATEST_VERSION
    with newer.read(project="old", user="ada") as reading:
        for scope in MemoryScope:
            (found,) = edits.list_memories(reading, scope=scope)
            assert (found.text, found.confidence, found.origin) == ("Likes fog.", 0.7, MemoryOrigin.STATED)
            assert (found.votes_for, found.votes_against, found.last_vote_at) == (0, 0, "")
        assert list_outcomes(reading) == []
    newer.close()
