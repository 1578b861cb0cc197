"""Schemas of settings: all of them with their values, for `fabula setting list --json` and the page's settings view."""

from __future__ import annotations

from fabula.settings.registry import SettingScope
from fabula.settings.values import SettingReport
from fabula.workspace.schemas.schema import Schema


class SettingList(Schema):
    """Every setting with its value, and the names of stored rows that are no settings of this version."""

    settings: list[SettingReport]
    unknown: dict[SettingScope, list[str]]
