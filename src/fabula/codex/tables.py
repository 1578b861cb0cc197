"""The codex's tables: entries, how they stand to each other, what becomes true of them, who knows it, pins,
and what a rename changed."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, Index, Text

from fabula.codex.model import Level, Wish
from fabula.store.schema import About, number, packed, place, project_table, refers, text, times, version

ROOM = "codex"

entries = project_table(
    "codex_entries",
    About(room=ROOM, owner="project", item="id"),
    Column("id", Text, nullable=False),
    text("type", "other"),
    text("name"),
    packed("aliases", info={"holds": list[str]}),
    text("level", "when_detected", info={"holds": Level}),
    text("description"),
    packed("details", "{}", info={"holds": dict[str, str]}),
    packed("tags", info={"holds": list[str]}),
    text("notes"),
    packed("known_to", None, info={"holds": list[str]}),
    *place("since"),
    packed("rules", "{}", info={"holds": dict[str, Any]}),  # how its names are found: case, exclusions
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
    packed("known_to", None, info={"holds": list[str]}),
    packed("aliases", info={"holds": list[str]}),  # names it has from there on
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
    text("wish", "include", info={"holds": Wish}),  # include or exclude
    refers(["entry_id"], "codex_entries"),
    key=("where_id", "entry_id"),
)

renames = project_table(
    "renames",
    About(room="renames", owner="project", item="id", saved=False),  # for undo; nothing a writer made
    Column("id", Text, nullable=False),
    text("old"),
    text("new"),
    packed("changes"),
    text("made"),
)
