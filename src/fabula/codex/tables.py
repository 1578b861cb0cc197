"""The codex's tables: entries, how they stand to each other, what becomes true of them, who knows it, pins."""

from __future__ import annotations

from sqlalchemy import Column, Index, Text

from fabula.store.schema import About, number, packed, place, project_table, refers, text, times, version

ROOM = "codex"

entries = project_table(
    "codex_entries",
    About(room=ROOM, owner="project", item="id"),
    Column("id", Text, nullable=False),
    text("type", "other"),
    text("name"),
    packed("aliases"),
    text("level", "when_detected"),
    text("description"),
    packed("details", "{}"),
    packed("tags"),
    text("notes"),
    packed("known_to", None),
    *place("since"),
    packed("rules", "{}"),  # how its names are found: case, exclusions
    *times(),
    version(),
    Index("ix_codex_entries_name", "project_id", "name"),
)

relations = project_table(
    "codex_relations",
    About(room=ROOM, owner="project", item="entry_id"),
    Column("entry_id", Text, nullable=False),
    Column("to_id", Text, nullable=False),
    Column("kind", Text, nullable=False, server_default=""),
    number("place"),
    refers(["entry_id"], "codex_entries"),
    key=("entry_id", "to_id", "kind"),
)

progressions = project_table(
    "codex_progressions",
    About(room=ROOM, owner="project", item="entry_id"),
    Column("id", Text, nullable=False),
    Column("entry_id", Text, nullable=False),
    number("place"),
    text("text"),
    *place("since"),
    packed("known_to", None),
    version(),
    refers(["entry_id"], "codex_entries"),
    Index("ix_codex_progressions_entry", "project_id", "entry_id", "place"),
)

knowledge = project_table(
    "knowledge",
    About(room=ROOM, owner="project", item="fact"),
    Column("fact", Text, nullable=False),  # the source of a fragment: an entry, a progression, a constraint
    Column("knower", Text, nullable=False),
    *place("since"),
    text("note"),
    key=("fact", "knower"),
)

pins = project_table(
    "pins",
    About(room=ROOM, owner="project", item="where_id"),
    Column("where_id", Text, nullable=False),  # a document or a conversation
    Column("entry_id", Text, nullable=False),
    text("wish", "include"),  # include or exclude
    refers(["entry_id"], "codex_entries"),
    key=("where_id", "entry_id"),
)
