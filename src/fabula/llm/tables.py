"""Runs: each generation with what it saw and what it cost. Money is in millionths, so that sums are exact."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Column, Index, Text

from fabula.store.schema import About, number, packed, project_table, text

runs = project_table(
    "runs",
    About(room="runs", owner="project", item="id"),
    Column("id", Text, nullable=False),
    text("skill_id"),
    text("model"),
    text("document_id"),
    text("conversation_id"),
    text("at"),
    number("input_tokens"),
    number("cached_tokens"),
    number("output_tokens"),
    Column("money_micros", BigInteger, nullable=False, server_default="0"),
    text("currency", "USD"),
    text("prefix_hash"),
    packed("trace", "{}", info={"holds": dict[str, Any]}),
    text("prompt", None),
    text("answer"),
    text("outcome"),
    packed("verdicts", info={"holds": list[Any]}),
    Index("ix_runs_at", "project_id", "at"),
)
