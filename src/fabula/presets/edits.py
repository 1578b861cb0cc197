"""Presets in the store: kept, listed, removed; one of them, or none, is the active one.

A preset is tried on the desk's own skeleton before it is kept, so that one which could not be used never
gets in.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Row

from fabula.context.recipes import NOVEL, Node, Preset, prepare
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import new_id, now, sound_id
from fabula.presets.snapshot import preset_of
from fabula.presets.tables import presets
from fabula.store.transaction import Reading, Writing

MOST_NODES = 1000


class Kept(Struct, frozen=True, kw_only=True):
    """A preset as the store keeps it, with the version that an edit names."""

    preset: Preset
    active: bool
    version: int
    changed: str


def put(tx: Writing, name: str, preset: Preset, *, active: bool = False, expected: int | None = None) -> str:
    """A preset under a name, new or in place of the one of its id; its id. `active` also makes it the active one."""
    kept = _checked(replace(preset, id=preset.id or new_id(), title=name.strip() or preset.title.strip()))
    at = now()
    values: dict[str, Any] = {"name": kept.title, "nodes": msgspec.to_builtins(kept.nodes), "changed": at}
    if tx.row(presets, id=kept.id) is not None:
        tx.edit(presets, {"id": kept.id}, values, expected=expected)
    elif expected:
        raise FabulaError(
            Code.STORE_CONFLICT,
            f"There is no preset {kept.id!r} (any more), and you have version {expected} of it. "
            "Load the list. Nothing was changed.",
            current=0,
            expected=expected,
        )
    else:
        tx.add(presets, {"id": kept.id, "made": at, **values})
    if active:
        activate(tx, kept.id)
    return kept.id


def activate(tx: Writing, preset_id: str | None) -> None:
    """Make one preset the active one, and no other; None for none at all."""
    if preset_id is not None:
        tx.need(presets, id=preset_id)
        tx.change(presets, {"active": 1}, presets.c.id == preset_id, presets.c.active == 0)
    others = () if preset_id is None else (presets.c.id != preset_id,)
    tx.change(presets, {"active": 0}, presets.c.active == 1, *others)


def remove(tx: Writing, preset_id: str, *, expected: int | None = None) -> None:
    """Take a preset away; where it was the active one, none is."""
    tx.edit(presets, {"id": preset_id}, {}, expected=expected)
    tx.remove(presets, presets.c.id == preset_id)


def get(reading: Reading, preset_id: str) -> Kept:
    """One preset."""
    return _kept(reading.need(presets, id=preset_id))


def find(reading: Reading, name: str) -> Kept:
    """A preset by its id, or by its name where only one has it."""
    every = listed(reading)
    found = [kept for kept in every if kept.preset.id == name] or [kept for kept in every if kept.preset.title == name]
    if len(found) == 1:
        return found[0]
    if found:
        ids = ", ".join(kept.preset.id for kept in found)
        raise FabulaError(
            Code.STORE_NOT_FOUND, f"{len(found)} presets are called {name!r}: say which by its id ({ids})."
        )
    names = ", ".join(kept.preset.title for kept in every) or "none yet"
    raise FabulaError(Code.STORE_NOT_FOUND, f"There is no preset called {name!r}. There are: {names}.")


def read(data: bytes | str) -> Preset:
    """A preset from JSON by the names of the specification: an object with `nodes`, or the list of them."""
    try:
        given = msgspec.json.decode(data, type=Preset | list[Node])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _refused(f"This is no preset: {error}.") from error
    return given if isinstance(given, Preset) else Preset(nodes=tuple(given))


def listed(reading: Reading) -> list[Kept]:
    """Every preset, by name."""
    return [_kept(row) for row in reading.rows(presets, order=(presets.c.name, presets.c.id))]


def _kept(row: Row[Any]) -> Kept:
    return Kept(preset=preset_of(row), active=bool(row.active), version=row.version, changed=row.changed)


def _checked(preset: Preset) -> Preset:
    """A preset that can be used; one made in Python may hold anything."""
    if not sound_id(preset.id) or not preset.title:
        raise _refused("A preset needs a name, and an id without spaces, slashes and `|`.")
    if len(preset.nodes) > MOST_NODES:
        raise _refused(f"A preset may have {MOST_NODES} nodes, and this one has {len(preset.nodes)}.")
    try:
        kept = msgspec.json.decode(msgspec.json.encode(preset), type=Preset)
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        raise _refused(f"The preset {preset.title!r} cannot be kept: {error}.") from error
    try:
        prepare(kept, NOVEL.preset)
    except FabulaError as error:
        raise FabulaError(error.code, f"{error.sentence} Nothing was changed.", **error.details) from error
    return kept


def _refused(sentence: str) -> FabulaError:
    return FabulaError(Code.PRESET_INVALID, f"{sentence} Nothing was changed.")
