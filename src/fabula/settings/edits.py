"""Change settings and budgets in the store, by version: two windows cannot overwrite each other (bud-7).

Only what the registry knows can be set, in a scope that may set it and within its bounds. Rows of reserved names
(a project's skills, dismissed proposals) are kept in the same table for other packages. Keys and passwords are no
settings: they live in the OS keyring or the environment and never in a store, a save or a log, so a name that says
it holds one is refused, at whatever depth it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Row, Table

from fabula.context.budget import BudgetProfile, Limits
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp
from fabula.settings.registry import (
    SETTINGS,
    SettingDefinition,
    SettingScope,
    find_setting,
    is_reserved,
    refuse,
)
from fabula.settings.tables import budgets
from fabula.settings.values import TABLES, read_budget_values
from fabula.store.save.secrets import is_secret_name
from fabula.store.transaction import ReadTransaction, WriteTransaction, row_missing

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,99}")
_MAX_BYTES = 100_000  # of one value
_KEYS = "Keys live in the OS keyring or the environment, never in the store."


class StoredBudget(Struct, frozen=True, kw_only=True):
    """How a project divides its windows, and its limits; version 0 before anything was set."""

    profile: BudgetProfile = BudgetProfile()
    limits: Limits = Limits()
    version: int = 0
    changed: str = ""


class StoredSetting(Struct, frozen=True, kw_only=True):
    """One row of settings as the store keeps it."""

    name: str
    value: Any
    version: int
    changed: str


def set_value(
    tx: WriteTransaction,
    name: str,
    value: Any,
    *,
    scope: SettingScope = "project",
    expected: int | None = None,
) -> int:
    """Set a setting for the project or the person; return its new version. One that is not set has version 0."""
    _check_storable(name, value)
    if is_reserved(name):
        return _write_row(tx, name, value, scope, expected)
    definition = _find(name)
    check_scope(definition, scope)
    definition.check(value)
    if definition.budget_path:
        return _write_to_budget(tx, definition, value, expected)
    return _write_row(tx, definition.name, value, scope, expected)


def reset(tx: WriteTransaction, name: str, *, scope: SettingScope = "project") -> None:
    """Remove what was set, so that the next scope or the default is in force; refuse where nothing is set.

    A row of a name that no setting has (any more) can be removed too.
    """
    table = _table(scope)
    if not is_reserved(name) and tx.row(table, name=name) is None:
        definition = find_setting(name)
        check_scope(definition, scope)
        name = definition.name
        if definition.budget_path and name in read_budget_values(tx):
            _write_to_budget(tx, definition, definition.default, None)
            return
    if not tx.delete_rows(table, table.c.name == name):
        raise row_missing(table, {"name": name})


def check_scope(definition: SettingDefinition, scope: SettingScope) -> None:
    """Refuse to set a setting in a scope that it does not have, with the way to set it."""
    if scope in definition.scopes:
        return
    name = definition.name
    if "person" in definition.scopes:
        raise refuse(f"{name} belongs to you, not to a project: fabula setting set --user {name} VALUE.")
    if "project" in definition.scopes:
        raise refuse(f"{name} belongs to a project, not to a person: fabula setting set PROJECT {name} VALUE.")
    raise refuse(f"{name} belongs to this machine: set {definition.variable} in the environment.")


def read_stored(reading: ReadTransaction, name: str, *, scope: SettingScope = "project") -> StoredSetting | None:
    """Read the row of a name; None where there is none."""
    row = reading.row(_table(scope), name=name)
    return None if row is None else _stored(row)


def list_stored(reading: ReadTransaction, *, scope: SettingScope = "project") -> list[StoredSetting]:
    """Every row of a scope, by name."""
    table = _table(scope)
    return [_stored(row) for row in reading.rows(table, order=(table.c.name,))]


def read_budget(reading: ReadTransaction) -> StoredBudget:
    """Read the project's budget, or the default one."""
    row = reading.row(budgets)
    if row is None:
        return StoredBudget()
    return StoredBudget(
        profile=msgspec.convert(row.profile, BudgetProfile),
        limits=msgspec.convert(row.limits, Limits),
        version=row.version,
        changed=row.changed,
    )


def update_budget(
    tx: WriteTransaction, profile: BudgetProfile, *, expected: int | None, limits: Limits | None = None
) -> int:
    """Change how windows are divided, and the limits; return the new version. An unset budget has version 0."""
    profile.check()
    if limits is not None:
        _check_limits(limits)
    values: dict[str, Any] = {"profile": msgspec.to_builtins(profile), "changed": current_timestamp()}
    if limits is not None:
        values["limits"] = msgspec.to_builtins(limits)
    if tx.row(budgets) is not None:
        return tx.update_row(budgets, {}, values, expected=expected)
    _check_unset(expected, Code.BUDGET_CONFLICT, "budget of its own")
    tx.insert(budgets, values)
    return 1


def _write_row(tx: WriteTransaction, name: str, value: Any, scope: SettingScope, expected: int | None) -> int:
    table = _table(scope)
    values = {"value": value, "changed": current_timestamp()}
    if tx.row(table, name=name) is not None:
        return tx.update_row(table, {"name": name}, values, expected=expected)
    _check_unset(expected, Code.STORE_CONFLICT, f"setting {name!r}")
    tx.insert(table, {"name": name, **values})
    return 1


def _write_to_budget(tx: WriteTransaction, definition: SettingDefinition, value: Any, expected: int | None) -> int:
    """Set one number of the project's budget."""
    budget = read_budget(tx)
    parts: dict[str, Any] = {
        "profile": msgspec.to_builtins(budget.profile),
        "limits": msgspec.to_builtins(budget.limits),
    }
    target = parts
    for key in definition.budget_path[:-1]:
        target = target[key]
    target[definition.budget_path[-1]] = value
    profile = msgspec.convert(parts["profile"], BudgetProfile)
    return update_budget(tx, profile, expected=expected, limits=msgspec.convert(parts["limits"], Limits))


def _check_limits(limits: Limits) -> None:
    """Refuse limits out of bounds, and those that are not a project's to set."""
    plain = msgspec.to_builtins(limits)
    for definition in SETTINGS.values():
        if definition.budget_path[:1] == ("limits",):
            value = plain[definition.budget_path[1]]
            if value != definition.default:
                check_scope(definition, "project")
            definition.check(value)


def _stored(row: Row[Any]) -> StoredSetting:
    return StoredSetting(name=row.name, value=row.value, version=row.version, changed=row.changed)


def _table(scope: SettingScope) -> Table:
    table = TABLES.get(scope)
    if table is None:
        raise refuse(f"The store keeps settings of projects and persons, not of {scope!r}.")
    return table


def _check_unset(expected: int | None, code: Code, what: str) -> None:
    if expected:
        raise FabulaError(
            code,
            f"There is no {what} (any more), and you have version {expected}. Load it again. Nothing was changed.",
            current=0,
            expected=expected,
        )


def _check_storable(name: str, value: Any) -> None:
    """Refuse names and values that the store cannot or must not keep."""
    if not _NAME.fullmatch(name):
        raise refuse(f"{name[:100]!r} is no name of a setting: it has letters, digits, `.`, `_`, `-`, a letter first.")
    if value is None:
        raise refuse(f"{name!r} was given no value. To return to the default, reset it.")
    try:
        length = len(msgspec.json.encode(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise refuse(f"The value of {name!r} cannot be written as JSON: {error}.") from error
    if length > _MAX_BYTES:
        raise refuse(f"The value of {name!r} takes {length} bytes, and a setting may take {_MAX_BYTES}.")
    for inner in _list_names(value):
        if is_secret_name(inner):
            raise refuse(f"{inner!r} looks like a secret. {_KEYS}")


def _find(name: str) -> SettingDefinition:
    try:
        return find_setting(name)
    except FabulaError as error:
        if not is_secret_name(name):
            raise
        raise refuse(f"{error.sentence.removesuffix(' Nothing was changed.')} {_KEYS}") from error


def _list_names(value: Any) -> Iterator[str]:
    """Every name inside a value, however deep."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name)
            yield from _list_names(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _list_names(inner)
