"""The table of constraints."""

from __future__ import annotations

from sqlalchemy import Column, Text

from fabula.constraints.model import HIGHEST_LIMIT, Constraint, ConstraintKind, ConstraintOrigin, TextCheck
from fabula.core.errors import Code
from fabula.store.rows import read_record
from fabula.store.schema import (
    NonBlank,
    Percent,
    SavedRow,
    TableInfo,
    integer_column,
    json_column,
    position_columns,
    project_table,
    text_column,
    timestamp_columns,
    version_column,
)


def _check_row(row: SavedRow) -> None:
    from fabula.constraints.edits import validate_constraint  # which imports this module

    validate_constraint(read_record(Constraint, row))


constraints = project_table(
    "constraints",
    TableInfo(
        area="constraints",
        owner="project",
        item="id",
        missing_code=Code.CONSTRAINT_NOT_FOUND,
        conflict_code=Code.CONSTRAINT_CONFLICT,
        max_rows=HIGHEST_LIMIT,
        check_row=_check_row,
    ),
    Column("id", Text, nullable=False, info={"type": NonBlank}),
    text_column("text", info={"type": NonBlank}),
    text_column("kind", "style", info={"type": ConstraintKind}),
    text_column("origin", "user", info={"type": ConstraintOrigin}),
    integer_column("priority", 50, info={"type": Percent}),
    *position_columns("since"),
    *position_columns("until"),
    json_column("check", None, info={"type": TextCheck}),  # what a program can check
    *timestamp_columns(),
    version_column(),
)
