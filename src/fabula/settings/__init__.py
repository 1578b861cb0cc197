"""Settings of projects, persons and machines: the registry, the values in force, and changing them."""

from fabula.settings.edits import StoredBudget, read_budget, reset, set_value, update_budget
from fabula.settings.registry import SETTINGS, SettingDefinition, SettingScope, find_setting
from fabula.settings.values import (
    SettingReport,
    SettingValues,
    get_value,
    list_settings,
    read_machine_limits,
    read_values,
)

__all__ = [
    "SETTINGS",
    "SettingDefinition",
    "SettingReport",
    "SettingScope",
    "SettingValues",
    "StoredBudget",
    "find_setting",
    "get_value",
    "list_settings",
    "read_budget",
    "read_machine_limits",
    "read_values",
    "reset",
    "set_value",
    "update_budget",
]
