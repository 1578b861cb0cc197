"""Tables of budgets and settings; each row has a version, so that two windows cannot overwrite each other."""

from __future__ import annotations

from sqlalchemy import Column, Text

from fabula.context.budget import BudgetProfile, Limits
from fabula.core.errors import Code
from fabula.store.schema import TableInfo, json_column, project_table, text_column, user_table, version_column

AREA = "settings"

budgets = project_table(
    "budgets",
    TableInfo(area=AREA, owner="project", conflict_code=Code.BUDGET_CONFLICT),
    json_column("profile", "{}", info={"type": BudgetProfile}),
    json_column("limits", "{}", info={"type": Limits}),
    text_column("changed"),
    version_column(),
    key=(),
)

settings = project_table(
    "settings",
    TableInfo(area=AREA, owner="project", item="name"),
    Column("name", Text, nullable=False),
    json_column("value", "null"),
    text_column("changed"),
    version_column(),
    key=("name",),
)

user_settings = user_table(
    "user_settings",
    TableInfo(area=AREA, owner="user", item="name"),
    Column("name", Text, nullable=False),
    json_column("value", "null"),
    text_column("changed"),
    version_column(),
    key=("name",),
)
