"""Schemas of a project's budget: how it is told, and a change of it that says only what is to be another (bud-7)."""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from fabula.context.budget import BudgetProfile, Limits
from fabula.settings.edits import StoredBudget
from fabula.workspace.schemas.schema import Schema, describe

Changed = TypeVar("Changed", bound=Struct)


class ShareInfo(Schema):
    """The share of one layer, and the minimum it gets while that is possible."""

    ratio: float
    minimum: int


class BudgetProfileInfo(Schema):
    """How a model's window is divided among the layers and the reply."""

    rules: ShareInfo
    settings: ShareInfo
    retrieved: ShareInfo
    immediate: ShareInfo
    reply_ratio: float
    reply_most: int


class LimitsInfo(Schema):
    """The limits on one request, and on requests at the same time."""

    input_tokens: int
    retrieved_chunks: int
    at_once: int
    waiting: int
    source_seconds: float
    source_fragments: int


class BudgetInfo(Schema):
    """How a project divides its windows among the layers and the reply, its limits, and the version of both."""

    profile: BudgetProfileInfo
    limits: LimitsInfo
    version: int


class ShareChange(Schema):
    """A change of the share of one layer; what is left out stays."""

    ratio: float | UnsetType = UNSET
    minimum: int | UnsetType = UNSET


class BudgetProfileChange(Schema):
    """A change of how windows are divided; what is left out stays."""

    rules: ShareChange | UnsetType = UNSET
    settings: ShareChange | UnsetType = UNSET
    retrieved: ShareChange | UnsetType = UNSET
    immediate: ShareChange | UnsetType = UNSET
    reply_ratio: float | UnsetType = UNSET
    reply_most: int | UnsetType = UNSET

    def apply(self, profile: BudgetProfile) -> BudgetProfile:
        """Return a profile with this change."""
        given = _list_given(self)
        for name, one in given.items():
            if isinstance(one, ShareChange):
                given[name] = _change(getattr(profile, name), one)
        return replace(profile, **given)


class LimitsChange(Schema):
    """A change of limits; what is left out stays."""

    input_tokens: int | UnsetType = UNSET
    retrieved_chunks: int | UnsetType = UNSET
    at_once: int | UnsetType = UNSET
    waiting: int | UnsetType = UNSET
    source_seconds: float | UnsetType = UNSET
    source_fragments: int | UnsetType = UNSET

    def apply(self, limits: Limits) -> Limits:
        """Return limits with this change."""
        return _change(limits, self)


def describe_budget(budget: StoredBudget) -> BudgetInfo:
    """Describe the budget of a project."""
    return describe(BudgetInfo, budget)


def _list_given(change: Struct) -> dict[str, Any]:
    values = {name: getattr(change, name) for name in change.__struct_fields__}
    return {name: value for name, value in values.items() if value is not UNSET}


def _change(value: Changed, change: Struct) -> Changed:
    return replace(value, **_list_given(change))
