"""Schemas of settings: all of them with their values, for `fabula setting list --json` and the page's settings view."""

from __future__ import annotations

from fabula.context.budget import BudgetProfile, Limits
from fabula.settings.edits import StoredBudget
from fabula.settings.registry import SettingScope
from fabula.settings.values import SettingReport
from fabula.workspace.schemas.schema import Schema, describe


class SettingList(Schema):
    """Every setting with its value, and the names of stored rows that are no settings of this version."""

    settings: list[SettingReport]
    unknown: dict[SettingScope, list[str]]


class BudgetInfo(Schema):
    """How a project divides its windows among the layers and the reply, its limits, and the version of both."""

    profile: BudgetProfile
    limits: Limits
    version: int


def describe_budget(budget: StoredBudget) -> BudgetInfo:
    """Describe the budget of a project."""
    return describe(BudgetInfo, budget)
