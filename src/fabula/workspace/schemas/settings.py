"""Schemas of settings: all of them with their values, for `fabula setting list --json` and the page's settings view."""

from __future__ import annotations

from fabula.llm.provider_config import KeyPlace, ProviderConfig, find_key_place
from fabula.settings.registry import SettingScope
from fabula.settings.values import SettingReport
from fabula.workspace.schemas.schema import Schema, describe
from fabula.workspace.writing_options import can_answer, find_default_model


class SettingList(Schema):
    """Every setting with its value, the titles of groups, and stored names that are no settings of this version."""

    settings: list[SettingReport]
    groups: dict[str, str]
    unknown: dict[SettingScope, list[str]]


class ProviderInfo(Schema):
    """A provider of models, and where its key is; the key itself is shown to nobody."""

    name: str
    address: str
    needs_key: bool
    variable: str  # of the environment, which may hold the key
    key: KeyPlace | None
    model: str  # that is asked where nobody names one; empty where it has none
    can_answer: bool  # whether it has the key and the model that it needs


class UsableProviderInfo(Schema):
    """A provider of models as somebody sees it who asks it, and who does not pay for it: no address, and no key."""

    name: str
    model: str  # that is asked where nobody names one; empty where it has none
    can_answer: bool


def describe_usable_provider(config: ProviderConfig) -> UsableProviderInfo:
    """Describe a provider of models to those who may ask it."""
    return describe(UsableProviderInfo, config, model=find_default_model(config), can_answer=can_answer(config))


def describe_provider(config: ProviderConfig) -> ProviderInfo:
    """Describe a provider of models."""
    variable = config.key_variable
    return describe(
        ProviderInfo,
        config,
        address=config.base_url,
        variable=variable,
        key=find_key_place(config),
        model=find_default_model(config),
        can_answer=can_answer(config),
    )
