"""Tables of the codex: entries, also removed ones, relations, progressions, knowledge, pins, renames and quotations."""

from __future__ import annotations

from typing import Any, Literal

from sqlalchemy import BigInteger, Column, Index, Text

from fabula.codex.entry import Level, PinMode
from fabula.codex.validation import MAX_ALIASES, check_entry_row, check_progression_row
from fabula.store.schema import (
    GroupLimit,
    TableInfo,
    integer_column,
    json_column,
    position_columns,
    project_foreign_key,
    project_table,
    text_column,
    timestamp_columns,
    version_column,
)

AREA = "codex"

entries = project_table(
    "codex_entries",
    TableInfo(area=AREA, owner="project", item="id", check_row=check_entry_row),
    Column("id", Text, nullable=False),
    text_column("type", "other"),
    text_column("name"),
    json_column("aliases", info={"type": list[str]}),
    text_column("level", "when_detected", info={"type": Level}),
    text_column("description"),
    json_column("details", "{}", info={"type": dict[str, str]}),
    json_column("tags", info={"type": list[str]}),
    text_column("notes"),
    json_column("known_to", None, info={"type": list[str]}),
    *position_columns("since"),
    json_column("rules", "{}", info={"type": dict[str, Any]}),  # how its names are matched: case, exclusions
    *timestamp_columns(),
    version_column(),
    Index("ix_codex_entries_name", "project_id", "name"),
)

removed_entries = project_table(
    "codex_removed",  # chapters and facts name characters by id, also after the entry was removed
    TableInfo(area=AREA, owner="project", item="id"),
    Column("id", Text, nullable=False),
    text_column("name"),
    text_column("removed"),
)

relations = project_table(
    "codex_relations",
    TableInfo(area=AREA, owner="project", item="entry_id"),
    Column("entry_id", Text, nullable=False),
    Column("to_id", Text, nullable=False),
    Column("kind", Text, nullable=False, server_default=""),
    integer_column("place"),
    *position_columns("since"),
    *position_columns("until"),
    json_column("known_to", None, info={"type": list[str]}),
    project_foreign_key(["entry_id"], "codex_entries"),
    key=("entry_id", "to_id", "kind"),
)

progressions = project_table(
    "codex_progressions",
    TableInfo(
        area=AREA,
        owner="project",
        item="entry_id",
        check_row=check_progression_row,
        max_each=GroupLimit(
            group=lambda row: row.get("entry_id"), names=lambda row: row.get("aliases", ()), most=MAX_ALIASES
        ),
    ),
    Column("id", Text, nullable=False),
    Column("entry_id", Text, nullable=False),
    integer_column("place"),
    text_column("text"),
    *position_columns("since"),
    json_column("known_to", None, info={"type": list[str]}),
    json_column("aliases", info={"type": list[str]}),  # names the entry has from there on
    version_column(),
    project_foreign_key(["entry_id"], "codex_entries"),
    Index("ix_codex_progressions_entry", "project_id", "entry_id", "place"),
)

knowledge = project_table(
    "knowledge",
    TableInfo(area=AREA, owner="project", item="fact"),
    Column("fact", Text, nullable=False),  # the source of a fragment: an entry, a progression, a constraint
    Column("knower", Text, nullable=False),
    *position_columns("since"),
    text_column("note"),
    key=("fact", "knower"),
)

pins = project_table(
    "pins",
    TableInfo(area=AREA, owner="project", item="where_id"),
    Column("where_id", Text, nullable=False),  # a document or a conversation
    Column("entry_id", Text, nullable=False),
    text_column("wish", "include", info={"type": PinMode}),  # include or exclude
    project_foreign_key(["entry_id"], "codex_entries"),
    key=("where_id", "entry_id"),
)

renames = project_table(
    "renames",
    TableInfo(area="renames", owner="project", item="id", in_saves=False),  # only for undo
    Column("id", Text, nullable=False),
    text_column("old"),
    text_column("new"),
    json_column("changes"),
    text_column("made"),
    Column("number", BigInteger, nullable=False, server_default="0"),  # in the order they were made; 0 for older ones
)

quotations = project_table(
    "codex_quotations",  # sentences that a model named as facts, each with its entry
    TableInfo(area="facts", owner="project", item="document_id", derived=("origin", ("model",))),
    Column("document_id", Text, nullable=False),
    # Each entry that was asked about, and a sentence or ""; a pair of two "" says that all of them are listed
    json_column("quotations", info={"type": list[tuple[str, str]]}),
    text_column("origin", "model", info={"type": Literal["model"]}),
    text_column("made_from"),  # hash of the text that the model read
    text_column("made"),
    project_foreign_key(["document_id"], "documents"),
    key=("document_id",),
)
