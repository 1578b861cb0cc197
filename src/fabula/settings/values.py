"""Resolution of settings: which value is in force, and where it comes from.

A project's value goes before the person's, the person's before the machine's (an environment variable), and all of
them before the default; a scope that may not set a setting is never looked at. A stored value that the setting does
not take counts as not set, and is reported. Nothing is cached here: a change takes effect with the next reading
(cnv-9).
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct
from sqlalchemy import Table, bindparam

from fabula.context.budget import Limits
from fabula.core.messages import ENGLISH
from fabula.settings.registry import (
    SCOPES,
    SETTINGS,
    SettingDefinition,
    SettingKind,
    SettingScope,
    find_setting,
    is_reserved,
)
from fabula.settings.tables import budgets, settings, user_settings
from fabula.store.queries import RowQuery
from fabula.store.schema import table_info
from fabula.store.transaction import ReadTransaction

SettingOrigin = Literal["project", "person", "machine", "default"]
TABLES: Mapping[SettingScope, Table] = {"project": settings, "person": user_settings}
_STORED = {
    scope: RowQuery(table, table.c.name.in_(bindparam("names", expanding=True)), only=("name", "value"))
    for scope, table in TABLES.items()
}
_UNSET = object()
_SWITCHES = {"on": True, "yes": True, "off": False, "no": False}


class ResolvedSetting(Struct, frozen=True):
    """The value of a setting that is in force, where it comes from, and stored values that cannot be used."""

    value: Any
    origin: SettingOrigin
    unusable: Mapping[SettingScope, Any] = {}


class SettingReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """A setting as people and interfaces see it: its value and origin, and everything the registry says of it."""

    name: str
    group: str
    kind: SettingKind
    value: Any
    origin: SettingOrigin
    default: Any
    scopes: tuple[SettingScope, ...]
    sentence: str
    accepts: str
    without_value: str
    minimum: float | None
    maximum: float | None
    choices: tuple[str, ...]
    aliases: tuple[str, ...]
    variable: str
    unusable: Mapping[SettingScope, Any]


class SettingValues:
    """The settings of one project, one person and one machine, as they were read."""

    def __init__(
        self,
        project: Mapping[str, Any] | None = None,
        person: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._stored: dict[SettingScope, Mapping[str, Any]] = {"project": project or {}, "person": person or {}}
        self._environ = environ

    def __getitem__(self, name: str) -> Any:
        """The value in force."""
        return self.resolve(name).value

    def get_override(self, name: str) -> Any:
        """The value that somebody set; None where the default is in force."""
        found = self.resolve(name)
        return None if found.origin == "default" else found.value

    def resolve(self, name: str) -> ResolvedSetting:
        """Find the value in force by the order of the scopes."""
        definition = SETTINGS[name]
        unusable: dict[SettingScope, Any] = {}
        for scope in SCOPES:
            value = self._read(definition, scope)
            if value is _UNSET:
                continue
            if definition.accepts(value):
                return ResolvedSetting(value, scope, unusable)
            unusable[scope] = value
        return ResolvedSetting(definition.default, "default", unusable)

    def _read(self, definition: SettingDefinition, scope: SettingScope) -> Any:
        if scope not in definition.scopes:
            return _UNSET
        if scope != "machine":
            return self._stored[scope].get(definition.name, _UNSET)
        text = self._environ.get(definition.variable, "").strip()
        return parse_value(definition, text) if text else _UNSET


def read_values(
    reading: ReadTransaction, names: Collection[str] = SETTINGS.keys(), *, environ: Mapping[str, str] = os.environ
) -> SettingValues:
    """Read the settings of the transaction's project and person, wherever it has one; only some names if asked."""
    stored: dict[SettingScope, dict[str, Any]] = {}
    for scope, table in TABLES.items():
        if reading.has_owner(table_info(table).owner):
            rows = reading.query(_STORED[scope], names=list(names))
            stored[scope] = {row.name: row.value for row in rows}
    if "project" in stored and any(SETTINGS[name].budget_path for name in names):
        stored["project"] |= read_budget_values(reading)
    return SettingValues(stored.get("project"), stored.get("person"), environ)


def get_value(reading: ReadTransaction, name: str, *, environ: Mapping[str, str] = os.environ) -> Any:
    """The value of a setting that is in force; an unknown name is refused with the nearest ones."""
    definition = find_setting(name)
    return read_values(reading, [definition.name], environ=environ)[definition.name]


def list_settings(
    reading: ReadTransaction, *, language: str = ENGLISH, environ: Mapping[str, str] = os.environ
) -> list[SettingReport]:
    """Every setting in the order of the registry, with its value and where that comes from."""
    values = read_values(reading, environ=environ)
    return [report_setting(values, name, language) for name in SETTINGS]


def report_setting(values: SettingValues, name: str, language: str = ENGLISH) -> SettingReport:
    """Describe one setting and its value."""
    definition, found = SETTINGS[name], values.resolve(name)
    fields = msgspec.structs.asdict(definition) | {
        "value": found.value,
        "origin": found.origin,
        "unusable": found.unusable,
        "sentence": definition.sentence.render(language),
        "accepts": definition.describe_values().render(language),
        "without_value": "" if definition.without_value is None else definition.without_value.render(language),
    }
    return SettingReport(**{name: fields[name] for name in SettingReport.__struct_fields__})


def list_unknown(reading: ReadTransaction) -> dict[SettingScope, list[str]]:
    """Names of stored rows that are no settings of this version, by scope; nothing reads them."""
    found: dict[SettingScope, list[str]] = {}
    for scope, table in TABLES.items():
        if reading.has_owner(table_info(table).owner):
            names = [row.name for row in reading.rows(table, order=(table.c.name,), only=("name",))]
            found[scope] = [name for name in names if name not in SETTINGS and not is_reserved(name)]
    return found


def read_machine_limits(environ: Mapping[str, str] = os.environ) -> Limits:
    """The limits of this process, for its engine: as the environment says, else the defaults."""
    values = SettingValues(environ=environ)
    limits = {
        one.budget_path[1]: values[name]
        for name, one in SETTINGS.items()
        if one.budget_path[:1] == ("limits",) and "machine" in one.scopes
    }
    return msgspec.convert(limits, Limits)


def read_memory_limit(environ: Mapping[str, str] = os.environ) -> int:
    """How many megabytes of open projects this process keeps: as the environment says, else the default."""
    return int(SettingValues(environ=environ)["limits.memoryMegabytes"])


def parse_value(definition: SettingDefinition, text: str) -> Any:
    """Read a value that was written as text: JSON where it is any, else the text itself."""
    if definition.kind == "bool" and text.strip().lower() in _SWITCHES:
        return _SWITCHES[text.strip().lower()]
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def read_budget_values(reading: ReadTransaction) -> dict[str, Any]:
    """The settings that a project's budget keeps, where they differ from the defaults."""
    row = reading.row(budgets)
    return {} if row is None else read_budget_settings(row.profile, row.limits)


def read_budget_settings(profile: Any, limits: Any) -> dict[str, Any]:
    """The settings in the two columns of a project's budget, where they differ from the defaults."""
    stored = {"profile": profile, "limits": limits}
    found: dict[str, Any] = {}
    for name, definition in SETTINGS.items():
        if not definition.budget_path:
            continue
        value: Any = stored
        for key in definition.budget_path:
            value = value.get(key, _UNSET) if isinstance(value, Mapping) else _UNSET
        if value is not _UNSET and value != definition.default:
            found[name] = value
    return found
