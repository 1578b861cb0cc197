"""Stores, lists, activates and removes the presets of a project (inj-1).

At most one preset of a project is active. A preset is completed with the novel recipe before it is stored, so that
one that could not be used is refused. Placement by depth and anchor (inj-2, inj-3) happens in `context.place`.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Row

from fabula.context.recipes import NOVEL, Node, Preset, complete_preset, validate_preset
from fabula.core.decoding import explain_decode_error
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp, is_valid_id, new_id
from fabula.core.messages import Sentence, join_names, message
from fabula.presets.tables import MAX_NODES, presets
from fabula.store.transaction import ReadTransaction, WriteTransaction


class StoredPreset(Struct, frozen=True, kw_only=True):
    """A preset in the store, with its version and the time of its last change."""

    preset: Preset
    is_active: bool
    version: int
    updated_at: str


def put(tx: WriteTransaction, name: str, preset: Preset, *, active: bool = False, expected: int | None = None) -> str:
    """Store a preset under a name, new or in place of the one with its id; return its id. `active` activates it."""
    preset = _validate(replace(preset, id=preset.id or new_id(), title=name.strip() or preset.title.strip()))
    at = current_timestamp()
    values: dict[str, Any] = {"name": preset.title, "nodes": msgspec.to_builtins(preset.nodes), "changed": at}
    if tx.row(presets, id=preset.id) is not None:
        tx.update_row(presets, {"id": preset.id}, values, expected=expected)
    elif expected:
        raise FabulaError(
            Code.STORE_CONFLICT,
            message(
                "The preset {name!r} was removed since you loaded version {expected}. Load the list. "
                "Nothing was changed.",
                name=preset.title,
                expected=expected,
            ),
            current=0,
            expected=expected,
        )
    else:
        tx.insert(presets, {"id": preset.id, "made": at, **values})
    if active:
        activate(tx, preset.id)
    return preset.id


def activate(tx: WriteTransaction, preset_id: str | None) -> None:
    """Make one preset the active one; None deactivates all."""
    if preset_id is not None:
        tx.require(presets, id=preset_id)
        tx.update_rows(presets, {"active": 1}, presets.c.id == preset_id, presets.c.active == 0)
    others = () if preset_id is None else (presets.c.id != preset_id,)
    tx.update_rows(presets, {"active": 0}, presets.c.active == 1, *others)


def remove(tx: WriteTransaction, preset_id: str, *, expected: int | None = None) -> None:
    """Remove a preset; if it was the active one, none is active."""
    tx.update_row(presets, {"id": preset_id}, {}, expected=expected)
    tx.delete_rows(presets, presets.c.id == preset_id)


def get(reading: ReadTransaction, preset_id: str) -> StoredPreset:
    """Read one preset; a missing one is refused."""
    return _stored(reading.require(presets, id=preset_id))


def find(reading: ReadTransaction, name: str) -> StoredPreset:
    """Find a preset by its id, or by its name if only one has it."""
    stored = list_presets(reading)
    by_id = [item for item in stored if item.preset.id == name]
    matches = by_id or [item for item in stored if item.preset.title == name]
    if len(matches) == 1:
        return matches[0]
    sentence = message("There is no preset called {name!r}. There are none yet.", name=name)
    if matches:
        ids = join_names([item.preset.id for item in matches])
        sentence = message("Several presets are called {name!r}: say which by its id ({ids}).", name=name, ids=ids)
    elif stored:
        names = join_names([item.preset.title for item in stored])
        sentence = message("There is no preset called {name!r}. There are: {names}.", name=name, names=names)
    raise FabulaError(Code.STORE_NOT_FOUND, sentence)


def list_presets(reading: ReadTransaction) -> list[StoredPreset]:
    """List every preset by name."""
    return [_stored(row) for row in reading.rows(presets, order=(presets.c.name, presets.c.id))]


def load_active(reading: ReadTransaction, previous: Preset | None = None) -> Preset | None:
    """Load the active preset, if there is one; an unchanged one is the same object as `previous`."""
    rows = reading.rows(presets, presets.c.active == 1, order=(presets.c.id,), limit=1)
    if not rows:
        return None
    preset = _preset_from_row(rows[0])
    return previous if previous == preset else preset


def parse_preset(data: bytes | str) -> Preset:
    """Parse a preset from JSON: an object with `nodes`, or the list of nodes."""
    try:
        parsed = msgspec.json.decode(data, type=Preset | list[Node])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _refuse(message("This is no preset: {problem}.", problem=explain_decode_error(error, Preset))) from error
    return parsed if isinstance(parsed, Preset) else Preset(nodes=tuple(parsed))


def _stored(row: Row[Any]) -> StoredPreset:
    preset = _preset_from_row(row)
    return StoredPreset(preset=preset, is_active=bool(row.active), version=row.version, updated_at=row.changed)


def _preset_from_row(row: Row[Any]) -> Preset:
    nodes = msgspec.convert(row.nodes, tuple[Node, ...])
    # Earlier versions stored the role system where a person had given the conversation none.
    nodes = tuple(
        replace(node, role=None) if node.type == "chat_history" and node.role == "system" else node for node in nodes
    )
    return Preset(id=row.id, title=row.name, nodes=nodes)


def _validate(preset: Preset) -> Preset:
    """Refuse a preset that cannot be used."""
    if not is_valid_id(preset.id) or not preset.title:
        raise _refuse(message("A preset needs a name, and an id without spaces, slashes and `|`."))
    if len(preset.nodes) > MAX_NODES:
        count = len(preset.nodes)
        raise _refuse(
            message("A preset may have {limit} nodes, and this one has {count}.", limit=MAX_NODES, count=count)
        )
    ids = [node.id for node in preset.nodes if node.id]
    twice = next((ident for ident in ids if ids.count(ident) > 1), None)
    try:
        valid = validate_preset(preset)
        complete_preset(valid, NOVEL.preset)
    except FabulaError as error:
        raise _refuse(error.message, error.code) from error
    if twice is not None:
        raise _refuse(message("Two nodes of this preset have the id {name!r}. Give one of them another.", name=twice))
    return valid


def _refuse(sentence: Sentence, code: Code = Code.PRESET_INVALID) -> FabulaError:
    return FabulaError(code, message("{sentence} Nothing was changed.", sentence=sentence))
