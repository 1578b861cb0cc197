"""Budgets and settings in the store, each with its version: two windows cannot overwrite each other (bud-7).

A setting is a name and any JSON value, of a project or of a person. Keys and passwords are no settings:
they live in the OS keyring or the environment and never in a store, a save or a log, so a name that says
it holds one is refused, at whatever depth it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct
from sqlalchemy import Row, Table

from fabula.context.budget import Limits, Profile
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import now
from fabula.settings.tables import budgets, settings, user_settings
from fabula.store.save.secrets import secret_name
from fabula.store.transaction import Reading, Writing, missing

Scope = Literal["project", "user"]
_TABLES: Mapping[str, Table] = {"project": settings, "user": user_settings}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,99}")
_LONGEST = 100_000  # bytes of one value


class Budget(Struct, frozen=True, kw_only=True):
    """How a project divides its windows, and what it allows; version 0 before anything was set."""

    profile: Profile = Profile()
    limits: Limits = Limits()
    version: int = 0
    changed: str = ""


class Setting(Struct, frozen=True, kw_only=True):
    """One setting as the store keeps it."""

    name: str
    value: Any
    version: int
    changed: str


def budget(reading: Reading) -> Budget:
    """The project's budget, or the house's own."""
    row = reading.row(budgets)
    if row is None:
        return Budget()
    return Budget(
        profile=msgspec.convert(row.profile, Profile),
        limits=msgspec.convert(row.limits, Limits),
        version=row.version,
        changed=row.changed,
    )


def update_budget(tx: Writing, profile: Profile, *, expected: int | None, limits: Limits | None = None) -> int:
    """Divide windows in another way; says the new version. A budget nobody has set yet has version 0."""
    profile.check()
    if limits is not None:
        _check_limits(limits)
    values: dict[str, Any] = {"profile": msgspec.to_builtins(profile), "changed": now()}
    if limits is not None:
        values["limits"] = msgspec.to_builtins(limits)
    if tx.row(budgets) is not None:
        return tx.edit(budgets, {}, values, expected=expected)
    _check_unset(expected, Code.BUDGET_CONFLICT, "budget of its own")
    tx.add(budgets, values)
    return 1


def get(reading: Reading, name: str, *, scope: Scope = "project") -> Setting | None:
    """A setting; None where nobody has set it."""
    row = reading.row(_table(scope), name=name)
    return None if row is None else _setting(row)


def put(tx: Writing, name: str, value: Any, *, scope: Scope = "project", expected: int | None = None) -> int:
    """Set a setting; says its new version. One that nobody has set yet has version 0."""
    table = _table(scope)
    _check(name, value)
    values = {"value": value, "changed": now()}
    if tx.row(table, name=name) is not None:
        return tx.edit(table, {"name": name}, values, expected=expected)
    _check_unset(expected, Code.STORE_CONFLICT, f"setting {name!r}")
    tx.add(table, {"name": name, **values})
    return 1


def unset(tx: Writing, name: str, *, scope: Scope = "project") -> None:
    """Leave a setting to the house again."""
    table = _table(scope)
    if not tx.remove(table, table.c.name == name):
        raise missing(table, {"name": name})


def listed(reading: Reading, *, scope: Scope = "project") -> list[Setting]:
    """Everything that is set, by name."""
    table = _table(scope)
    return [_setting(row) for row in reading.rows(table, order=(table.c.name,))]


def _setting(row: Row[Any]) -> Setting:
    return Setting(name=row.name, value=row.value, version=row.version, changed=row.changed)


def _table(scope: Scope) -> Table:
    table = _TABLES.get(scope)
    if table is None:
        raise _refused(f"A setting belongs to a project or to a user, not to {scope!r}.")
    return table


def _check_unset(expected: int | None, code: Code, what: str) -> None:
    if expected:
        raise FabulaError(
            code,
            f"There is no {what} (any more), and you have version {expected}. Load it again. Nothing was changed.",
            current=0,
            expected=expected,
        )


def _check(name: str, value: Any) -> None:
    if not _NAME.fullmatch(name):
        raise _refused(f"{name!r} cannot be the name of a setting: letters, digits, `.`, `_` and `-`, a letter first.")
    if value is None:
        raise _refused(f"{name!r} was given no value. To leave it to the house, unset it.")
    try:
        length = len(msgspec.json.encode(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise _refused(f"The value of {name!r} cannot be kept as JSON: {error}.") from error
    if length > _LONGEST:
        raise _refused(f"The value of {name!r} takes {length} bytes, and a setting may take {_LONGEST}.")
    for one in (name, *_names_in(value)):
        if secret_name(one):
            raise _refused(
                f"{one!r} looks like a secret. Keys live in the OS keyring or the environment, never in the store."
            )


def _names_in(value: Any) -> Iterator[str]:
    """Every name inside a value, however deep."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name)
            yield from _names_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _names_in(inner)


def _check_limits(limits: Limits) -> None:
    for name in Limits.__struct_fields__:
        value = getattr(limits, name)
        whole_number = isinstance(value, int) and not isinstance(value, bool)
        sound = whole_number or (name == "source_seconds" and isinstance(value, float))
        if not sound or not (0 < value < 1e9 or (name == "waiting" and value == 0)):
            raise _refused(f"The limit {name} is {value!r}; limits are whole numbers from 1 up.")


def _refused(sentence: str) -> FabulaError:
    return FabulaError(Code.SETTING_INVALID, f"{sentence} Nothing was changed.")
