"""Routes of settings: a person's own, a project's, and the budget of a project (bud-7)."""

from __future__ import annotations

from fabula.server.access import Right
from fabula.server.routes.route import NOTHING, Answer, Route, mount
from fabula.settings.values import SettingReport
from fabula.workspace.schemas.settings import BudgetInfo, SettingList, describe_budget

BUDGET = Answer(BudgetInfo, describe_budget)

ROUTES = mount(
    "settings",
    "",
    (
        Route("GET", "/settings", "list_settings", Right.SIGN_IN, Answer(SettingList)),
        Route("GET", "/settings/{name}", "get", Right.SIGN_IN, Answer(SettingReport)),
        Route("PUT", "/settings/{name}", "set", Right.STORE, NOTHING, {"value": 12, "scope": "person"}),
        Route("DELETE", "/settings/{name}", "reset", Right.STORE, NOTHING, {"scope": "person"}),
        Route("GET", "/projects/{project}/settings", "list_settings", Right.READ, Answer(SettingList)),
        Route("GET", "/projects/{project}/settings/{name}", "get", Right.READ, Answer(SettingReport)),
        Route("PUT", "/projects/{project}/settings/{name}", "set", Right.MANAGE, NOTHING, {"value": 12}),
        Route("DELETE", "/projects/{project}/settings/{name}", "reset", Right.MANAGE, NOTHING),
        Route("GET", "/projects/{project}/budget", "read_budget", Right.READ, BUDGET),
        Route(
            "PUT",
            "/projects/{project}/budget",
            "update_budget",
            Right.MANAGE,
            BUDGET,
            {"profile": {"rules": {"ratio": 0.2, "minimum": 500}}, "expectedVersion": 0},
        ),
    ),
)
