"""Tables of the manuscript: documents in a tree, their revisions, beats, synopses and marks."""

from __future__ import annotations

from typing import Literal

from sqlalchemy import Column, Float, Index, Integer, Text

from fabula.core.errors import Code
from fabula.manuscript.drafts import DocumentKind
from fabula.manuscript.model import Direction
from fabula.store.schema import (
    TableInfo,
    integer_column,
    json_column,
    project_foreign_key,
    project_table,
    text_column,
    timestamp_columns,
    version_column,
)
from fabula.store.tables import projects

AREA = "manuscript"

projects.c.direction.info["type"] = Direction  # the store owns the table and does not know the type

documents = project_table(
    "documents",
    TableInfo(
        area=AREA, owner="project", item="id", missing_code=Code.DOCUMENT_UNKNOWN, conflict_code=Code.DOCUMENT_STALE
    ),
    Column("id", Text, nullable=False),
    text_column("parent_id", None),
    integer_column("place"),
    text_column("kind", "chapter", info={"type": DocumentKind}),
    text_column("title"),
    Column("text", Text, nullable=False, server_default="", info={"file": "md"}),
    text_column("pov", None),
    Column("happens", Float),
    json_column("known_to", None, info={"type": list[str]}),
    text_column("notes"),
    text_column("status"),
    *timestamp_columns(),
    version_column(),
    project_foreign_key(["parent_id"], "documents"),
    Index("ix_documents_tree", "project_id", "parent_id", "place"),
)

revisions = project_table(
    "revisions",
    TableInfo(area="revisions", owner="project", item="document_id"),
    Column("document_id", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    text_column("title"),
    text_column("text", info={"any_length": True}),  # as long as a document
    text_column("label"),
    text_column("cause"),  # typed, replaced, accepted, restored, merged, split, renamed
    text_column("at"),
    project_foreign_key(["document_id"], "documents"),
    key=("document_id", "revision"),
)

beats = project_table(
    "beats",
    TableInfo(area=AREA, owner="project", item="document_id"),
    Column("id", Text, nullable=False),
    Column("document_id", Text, nullable=False),
    integer_column("place"),
    text_column("text"),
    integer_column("done"),
    version_column(),
    project_foreign_key(["document_id"], "documents"),
    Index("ix_beats_document", "project_id", "document_id", "place"),
)

synopses = project_table(
    "synopses",
    TableInfo(area=AREA, owner="project", item="document_id", derived=("origin", ("extract", "model"))),
    Column("document_id", Text, nullable=False),
    text_column("text"),
    text_column("origin", "hand", info={"type": Literal["hand", "extract", "model"]}),
    text_column("made_from"),  # hash of the text that was summarised
    text_column("changed"),
    version_column(),
    project_foreign_key(["document_id"], "documents"),
    key=("document_id",),
)

marks = project_table(
    "marks",
    TableInfo(area=AREA, owner="project", item="document_id"),
    Column("id", Text, nullable=False),
    Column("document_id", Text, nullable=False),
    integer_column("start"),
    integer_column("end"),
    text_column("kind", "model"),
    text_column("run_id"),
    text_column("made"),
    project_foreign_key(["document_id"], "documents"),
    Index("ix_marks_document", "project_id", "document_id", "start"),
)
