"""Database table of generation runs. Money is in millionths of a currency, so sums are exact."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Column, Index, Text

from fabula.store.schema import TableInfo, integer_column, json_column, project_table, text_column

runs = project_table(
    "runs",
    TableInfo(area="runs", owner="project", item="id"),
    Column("id", Text, nullable=False),
    text_column("skill_id"),
    text_column("model"),
    text_column("document_id"),
    text_column("conversation_id"),
    text_column("at"),
    integer_column("input_tokens"),
    integer_column("cached_tokens"),
    integer_column("output_tokens"),
    Column("money_micros", BigInteger, nullable=False, server_default="0"),
    text_column("currency", "USD"),
    text_column("prefix_hash"),
    json_column("trace", "{}", info={"type": dict[str, Any], "any_length": True}),
    text_column("prompt", None, info={"any_length": True}),
    text_column("answer", info={"any_length": True}),
    text_column("outcome"),
    json_column("verdicts", info={"type": list[Any], "any_length": True}),
    Column("number", BigInteger, nullable=False, server_default="0"),  # in the order they were made; 0 for older ones
    Index("ix_runs_at", "project_id", "at"),
)
