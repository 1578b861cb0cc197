"""The manuscript's tables: documents in a tree, their revisions, outline, synopses and marks."""

from __future__ import annotations

from typing import Literal

from sqlalchemy import Column, Float, Index, Integer, Text

from fabula.core.errors import Code
from fabula.manuscript.drafts import Kind
from fabula.manuscript.model import Direction
from fabula.store.schema import About, number, packed, project_table, refers, text, times, version
from fabula.store.tables import projects

ROOM = "manuscript"

projects.c.direction.info["holds"] = Direction  # the store keeps the row, and knows no room

documents = project_table(
    "documents",
    About(room=ROOM, owner="project", item="id", missing=Code.DOCUMENT_UNKNOWN, conflict=Code.DOCUMENT_STALE),
    Column("id", Text, nullable=False),
    text("parent_id", None),
    number("place"),
    text("kind", "chapter", info={"holds": Kind}),
    text("title"),
    Column("text", Text, nullable=False, server_default="", info={"file": "md"}),
    text("pov", None),
    Column("happens", Float),
    packed("known_to", None, info={"holds": list[str]}),
    text("notes"),
    text("status"),
    *times(),
    version(),
    refers(["parent_id"], "documents"),
    Index("ix_documents_tree", "project_id", "parent_id", "place"),
)

revisions = project_table(
    "revisions",
    About(room="revisions", owner="project", item="document_id"),
    Column("document_id", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    text("title"),
    text("text"),
    text("label"),
    text("cause"),  # typed, restored, accepted, imported, renamed
    text("at"),
    refers(["document_id"], "documents"),
    key=("document_id", "revision"),
)

beats = project_table(
    "beats",
    About(room=ROOM, owner="project", item="document_id"),
    Column("id", Text, nullable=False),
    Column("document_id", Text, nullable=False),
    number("place"),
    text("text"),
    number("done"),
    version(),
    refers(["document_id"], "documents"),
    Index("ix_beats_document", "project_id", "document_id", "place"),
)

synopses = project_table(
    "synopses",
    About(room=ROOM, owner="project", item="document_id"),
    Column("document_id", Text, nullable=False),
    text("text"),
    text("origin", "hand", info={"holds": Literal["hand", "extract", "model"]}),
    text("made_from"),  # hash of the text it tells
    text("changed"),
    version(),
    refers(["document_id"], "documents"),
    key=("document_id",),
)

marks = project_table(
    "marks",
    About(room=ROOM, owner="project", item="document_id"),
    Column("id", Text, nullable=False),
    Column("document_id", Text, nullable=False),
    number("start"),
    number("end"),
    text("kind", "model"),
    text("run_id"),
    text("made"),
    refers(["document_id"], "documents"),
    Index("ix_marks_document", "project_id", "document_id", "start"),
)
