"""Tables of the stored continuity, of the last prefix hashes and of the assemblies that are not answered yet.

Losing a row costs cached tokens and nothing else. So these rows neither change the project's version, nor appear
in the change feed, nor enter a save.
"""

from __future__ import annotations

from sqlalchemy import Column, Text

from fabula.core.errors import Code
from fabula.store.schema import TableInfo, integer_column, project_table, text_column

AREA = "continuity"

continuity = project_table(
    "continuity",
    TableInfo(area=AREA, owner="project", item="key", in_saves=False, tracked=False),
    Column("key", Text, nullable=False),
    text_column("family"),  # the same for all documents; empty for a branch of a conversation
    text_column("value"),
    integer_column("format"),
    text_column("used_at"),
    key=("key",),
)

prefixes = project_table(
    "prefixes",
    TableInfo(area=AREA, owner="project", item="key", in_saves=False, tracked=False),
    Column("key", Text, nullable=False),
    text_column("prefix_hash"),
    text_column("used_at"),
    key=("key",),
)

assemblies = project_table(
    "assemblies",
    TableInfo(area=AREA, owner="project", item="id", in_saves=False, tracked=False, missing_code=Code.ASSEMBLY_UNKNOWN),
    Column("id", Text, nullable=False),
    text_column("key"),
    text_column("family"),
    text_column("value"),
    integer_column("format"),
    text_column("made_at"),
)
