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
from fabula.core.errors import FabulaError
from fabula.core.ids import current_timestamp
from fabula.core.messages import advise, message
from fabula.settings.registry import (
    MAX_RESERVED,
    SETTINGS,
    SettingDefinition,
    SettingScope,
    find_setting,
    is_reserved,
    refuse,
)
from fabula.settings.tables import budgets
from fabula.settings.values import TABLES, read_budget_values
from fabula.store.save.secrets import is_secret_name, is_secret_value
from fabula.store.schema import table_info
from fabula.store.transaction import ReadTransaction, WriteTransaction, row_missing

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,99}")
_MAX_BYTES = 100_000  # of one value
_KEYS = message("Keys live in the OS keyring or the environment, never in the store.")


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
        _check_room(tx, _table(scope), name)
        return _put(tx, _table(scope), {"name": name}, {"value": value, "changed": current_timestamp()}, expected)
    try:
        definition = find_setting(name)
    except FabulaError as error:
        if not is_secret_name(name):
            raise
        raise FabulaError(error.code, message("{sentence} {keys}", sentence=error.message, keys=_KEYS)) from error
    check_scope(definition, scope)
    definition.check(value)
    if definition.budget_path:
        return _write_to_budget(tx, definition, value, expected)
    return _put(
        tx, _table(scope), {"name": definition.name}, {"value": value, "changed": current_timestamp()}, expected
    )


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
    sentence = message(
        "{name} belongs to this machine: set {variable} in the environment.", name=name, variable=definition.variable
    )
    if "person" in definition.scopes:
        sentence = advise(
            message("{name} belongs to you, not to a project: fabula setting set --user {name} VALUE.", name=name),
            message(
                '{name} belongs to a person, not to a project. Set it for the person, with `"scope": "person"`.',
                name=name,
            ),
        )
    elif "project" in definition.scopes:
        sentence = advise(
            message(
                "{name} belongs to a project, not to a person: fabula setting set PROJECT {name} VALUE.", name=name
            ),
            message(
                '{name} belongs to a project, not to a person. Set it for a project, with `"scope": "project"`.',
                name=name,
            ),
        )
    raise refuse(sentence)


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
    return StoredBudget() if row is None else msgspec.convert(row._mapping, StoredBudget)


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
    return _put(tx, budgets, {}, values, expected)


def _put(
    tx: WriteTransaction, table: Table, key: Mapping[str, Any], values: Mapping[str, Any], expected: int | None
) -> int:
    """Update a row or insert it; return its version. A row that is not there has version 0."""
    if tx.row(table, **key) is not None:
        return tx.update_row(table, key, values, expected=expected)
    if expected:
        raise FabulaError(
            table_info(table).conflict_code,
            message(
                "It was reset since you loaded version {expected}. Load it again. Nothing was changed.",
                expected=expected,
            ),
            current=0,
            expected=expected,
        )
    tx.insert(table, {**key, **values})
    return 1


def _write_to_budget(tx: WriteTransaction, definition: SettingDefinition, value: Any, expected: int | None) -> int:
    """Set one number of the project's budget."""
    target = budget = msgspec.to_builtins(read_budget(tx))
    for key in definition.budget_path[:-1]:
        target = target[key]
    target[definition.budget_path[-1]] = value
    changed = msgspec.convert(budget, StoredBudget)
    return update_budget(tx, changed.profile, expected=expected, limits=changed.limits)


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
    return msgspec.convert(row._mapping, StoredSetting)


def _table(scope: SettingScope) -> Table:
    table = TABLES.get(scope)
    if table is None:
        raise refuse(message("The store keeps settings of projects and persons, not of {scope!r}.", scope=scope))
    return table


def _check_room(tx: WriteTransaction, table: Table, name: str) -> None:
    """Refuse one more row of a reserved prefix than a project may have."""
    prefix = name.partition(".")[0]
    others = [row.name for row in tx.rows(table, table.c.name.startswith(f"{prefix}."), only=["name"])]
    if name not in others and len(others) >= MAX_RESERVED:
        raise refuse(message("A project can have {max} skills of its own. Remove one first.", max=MAX_RESERVED))


def _check_storable(name: str, value: Any) -> None:
    """Refuse names and values that the store cannot or must not keep."""
    if value is None:
        raise refuse(message("{name!r} was given no value. To return to the default, reset it.", name=name[:100]))
    check_stored_row(name, value)
    secret = next(filter(is_secret_name, _list_names(value)), None)
    if secret is not None:
        raise refuse(message("{name!r} looks like a secret. {keys}", name=secret, keys=_KEYS))
    if is_secret_value(value):
        raise refuse(message("The value of {name!r} looks like a secret. {keys}", name=name, keys=_KEYS))


def check_stored_row(name: str, value: Any) -> None:
    """Refuse a name that no setting can have, and a value that is too large or no JSON."""
    if not _NAME.fullmatch(name):
        raise refuse(
            message(
                "{name!r} is no name of a setting: it has letters, digits, `.`, `_`, `-`, a letter first.",
                name=name[:100],
            )
        )
    try:
        length = len(msgspec.json.encode(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise refuse(
            message("The value of {name!r} cannot be written as JSON: {error}.", name=name, error=error)
        ) from error
    if length > _MAX_BYTES:
        raise refuse(
            message(
                "The value of {name!r} takes {length} bytes, and a setting may take {limit}.",
                name=name,
                length=length,
                limit=_MAX_BYTES,
            )
        )


def _list_names(value: Any) -> Iterator[str]:
    """Every name inside a value, however deep."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name)
            yield from _list_names(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _list_names(inner)
