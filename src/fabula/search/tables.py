"""Tables of search: what a model asked for in scenes."""

from __future__ import annotations

from typing import Literal

from sqlalchemy import Column, Text

from fabula.store.schema import TableInfo, json_column, position_columns, project_table, text_column

needs = project_table(
    "needs",
    TableInfo(area="needs", owner="project", item="id", derived=("origin", ("model",))),
    Column("id", Text, nullable=False),
    *position_columns("since"),  # where the model was asked
    text_column("vantage"),  # whose knowledge it was told, as `Vantage.name` says it
    json_column("questions", info={"type": list[str]}),
    text_column("origin", "model", info={"type": Literal["model"]}),
    text_column("made"),
)
