"""Tables of budgets and settings. Each has its version, so that two windows cannot overwrite each other."""

from __future__ import annotations

from sqlalchemy import Column, Text

from fabula.context.budget import Limits, Profile
from fabula.core.errors import Code
from fabula.store.schema import About, packed, project_table, text, user_table, version

ROOM = "settings"

budgets = project_table(
    "budgets",
    About(room=ROOM, owner="project", conflict=Code.BUDGET_CONFLICT),
    packed("profile", "{}", info={"holds": Profile}),
    packed("limits", "{}", info={"holds": Limits}),
    text("changed"),
    version(),
    key=(),
)

settings = project_table(
    "settings",
    About(room=ROOM, owner="project", item="name"),
    Column("name", Text, nullable=False),
    packed("value", "null"),
    text("changed"),
    version(),
    key=("name",),
)

user_settings = user_table(
    "user_settings",
    About(room=ROOM, owner="user", item="name"),
    Column("name", Text, nullable=False),
    packed("value", "null"),
    text("changed"),
    version(),
    key=("name",),
)
