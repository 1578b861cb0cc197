"""Routes of settings: a person's own, a project's, and the budget of a project (bud-7)."""

from __future__ import annotations

from fabula.access.model import Right
from fabula.server.routes.route import NOTHING, Answer, Route, make_list, mount
from fabula.settings.values import SettingReport
from fabula.workspace.schemas.budgets import BudgetInfo, describe_budget
from fabula.workspace.schemas.settings import (
    ProviderInfo,
    SettingList,
    UsableProviderInfo,
    describe_provider,
    describe_usable_provider,
)

_OWN = {"name": "runs.keepPrompts"}
_PROVIDER = Answer(ProviderInfo, describe_provider)
BUDGET = Answer(BudgetInfo, describe_budget)

ROUTES = mount(
    "settings",
    "",
    (
        Route("GET", "/settings", "list_settings", Right.SIGN_IN, Answer(SettingList)),
        Route("GET", "/settings/{name}", "get", Right.SIGN_IN, Answer(SettingReport)),
        Route(
            "PUT",
            "/settings/{name}",
            "set",
            Right.STORE,
            NOTHING,
            {"value": True, "scope": "person"},
            path_example=_OWN,
        ),
        Route("DELETE", "/settings/{name}", "reset", Right.STORE, NOTHING, {"scope": "person"}, path_example=_OWN),
        Route("GET", "/providers", "list_providers", Right.STORE, make_list(_PROVIDER, "name")),
        Route(
            "PUT",
            "/providers/{provider}/key",
            "set_provider_key",
            Right.STORE,
            _PROVIDER,
            {"key": "sk-0123456789"},
        ),
        Route("DELETE", "/providers/{provider}/key", "remove_provider_key", Right.STORE, _PROVIDER),
        Route(
            "GET",
            "/projects/{project}/providers",
            "list_providers",
            Right.GENERATE,
            make_list(Answer(UsableProviderInfo, describe_usable_provider), "name"),
        ),
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
            {"profile": {"rules": {"ratio": 0.1, "minimum": 500}}, "expectedVersion": 0},
        ),
    ),
)
