"""Tables of budgets and settings; each row has a version, so that two windows cannot overwrite each other."""

from __future__ import annotations

import msgspec
from sqlalchemy import Column, Text

from fabula.context.budget import BudgetProfile, Limits
from fabula.core.errors import Code
from fabula.settings.registry import MAX_RESERVED, is_portable
from fabula.store.schema import (
    GroupLimit,
    SavedRow,
    TableInfo,
    json_column,
    project_table,
    text_column,
    user_table,
    version_column,
)

AREA = "settings"


def _check_setting(row: SavedRow) -> None:
    from fabula.settings.edits import check_stored_row  # which imports this module

    check_stored_row(row["name"], row.get("value"))


_EACH_PREFIX = GroupLimit(
    group=lambda row: row["name"].partition(".")[0], names=lambda row: [row["name"]], most=MAX_RESERVED
)
_MAX_ROWS = 1_000  # far more than there are settings


def _check_budget(row: SavedRow) -> None:
    msgspec.convert(row.get("profile", {}), BudgetProfile).check()


budgets = project_table(
    "budgets",
    TableInfo(area=AREA, owner="project", conflict_code=Code.BUDGET_CONFLICT, check_row=_check_budget),
    json_column("profile", "{}", info={"type": BudgetProfile}),
    json_column("limits", "{}", info={"type": Limits}),
    text_column("changed"),
    version_column(),
    key=(),
)

settings = project_table(
    "settings",
    TableInfo(
        area=AREA,
        owner="project",
        item="name",
        is_portable=is_portable,
        max_rows=_MAX_ROWS,
        check_row=_check_setting,
        max_each=_EACH_PREFIX,
    ),
    Column("name", Text, nullable=False),
    json_column("value", "null"),
    text_column("changed"),
    version_column(),
    key=("name",),
)

user_settings = user_table(
    "user_settings",
    TableInfo(
        area=AREA,
        owner="user",
        item="name",
        is_portable=is_portable,
        max_rows=_MAX_ROWS,
        check_row=_check_setting,
        max_each=_EACH_PREFIX,
    ),
    Column("name", Text, nullable=False),
    json_column("value", "null"),
    text_column("changed"),
    version_column(),
    key=("name",),
)
