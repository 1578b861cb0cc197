"""Constraints in the store: created, listed, changed and deleted; in force in the next prompt (con-1..3).

Writers of one project go one after the other, so counting and then adding is safe: the constraint over
the limit is refused, whoever comes second.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fabula.constraints.model import MOST, Check, Constraint, Constraints, Kind, Origin
from fabula.constraints.snapshot import constraint_of
from fabula.constraints.tables import constraints
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import now, sound_id
from fabula.core.story import Position
from fabula.store.transaction import Reading, Writing

_FIXED = frozenset({"id", "made"})


class Kept(Struct, frozen=True, kw_only=True):
    """A constraint as the store keeps it, with the version that an edit names."""

    constraint: Constraint
    version: int
    changed: str


def create(tx: Writing, constraint: Constraint, *, most: int = MOST) -> str:
    """A new constraint; its id. The one over the limit is refused."""
    kept = _checked(constraint if constraint.made else replace(constraint, made=now()))
    _check_room(tx, 1, most)
    tx.add(constraints, _row(kept))
    return kept.id


def update(tx: Writing, constraint_id: str, values: Mapping[str, Any], *, expected: int | None = None) -> int:
    """Change text, kind, origin, priority, span or check; says the new version."""
    before = constraint_of(tx.need(constraints, id=constraint_id))
    strange = set(values) - set(Constraint.__struct_fields__) | _FIXED & set(values)
    if strange:
        raise _refused(f"Of a constraint, {', '.join(sorted(strange))} cannot be changed.")
    fields = {name: getattr(before, name) for name in Constraint.__struct_fields__}
    try:
        constraint = _checked(msgspec.convert({**fields, **values}, Constraint))
    except msgspec.ValidationError as error:
        raise _refused(f"The constraint cannot be changed like this: {error}.") from error
    return tx.edit(constraints, {"id": constraint_id}, _columns(constraint), expected=expected)


def delete(tx: Writing, constraint_id: str, *, expected: int | None = None) -> None:
    """Take a constraint out of force."""
    tx.edit(constraints, {"id": constraint_id}, {}, expected=expected)
    tx.remove(constraints, constraints.c.id == constraint_id)


def put_all(tx: Writing, many: Iterable[Constraint], *, most: int = MOST) -> int:
    """Constraints as they are, each new or in place of the one of its id; says how many were written."""
    wanted: dict[str, Constraint] = {}
    for constraint in many:
        if constraint.id in wanted:
            raise _refused(f"Two constraints have the id {constraint.id!r}: give one of them another.")
        wanted[constraint.id] = _checked(constraint)
    old = {row.id: constraint_of(row) for row in tx.rows(constraints)}
    new = [constraint for ident, constraint in wanted.items() if ident not in old]
    changed = [constraint for ident, constraint in wanted.items() if ident in old and old[ident] != constraint]
    _check_room(tx, len(new), most)
    tx.add(constraints, *(_row(constraint) for constraint in new))
    for constraint in changed:
        tx.edit(constraints, {"id": constraint.id}, {"made": constraint.made, **_columns(constraint)})
    return len(new) + len(changed)


def get(reading: Reading, constraint_id: str) -> Kept:
    """One constraint."""
    row = reading.need(constraints, id=constraint_id)
    return Kept(constraint=constraint_of(row), version=row.version, changed=row.changed)


def listed(reading: Reading, *, kind: Kind | None = None, origin: Origin | None = None) -> list[Kept]:
    """All constraints, or those of a kind or origin, in the order in which they stand in a prompt."""
    rows = {row.id: row for row in reading.rows(constraints)}
    ordered = Constraints("-", map(constraint_of, rows.values()), most=max(len(rows), MOST)).constraints
    return [
        Kept(constraint=constraint, version=rows[constraint.id].version, changed=rows[constraint.id].changed)
        for constraint in ordered
        if kind in (None, constraint.kind) and origin in (None, constraint.origin)
    ]


def _check_room(tx: Writing, more: int, most: int) -> None:
    there = tx.count(constraints)
    if more and there + more > most:
        raise FabulaError(
            Code.CONSTRAINT_LIMIT,
            f"A project may have {most} constraints and this would make {there + more}. "
            "Merge or delete some first. Nothing was changed.",
            most=most,
        )


def _checked(constraint: Constraint) -> Constraint:
    """A constraint that can be kept; one made in Python may hold anything."""
    if not sound_id(constraint.id):
        raise _refused(f"{constraint.id!r} cannot be the id of a constraint: leave out spaces, slashes and `|`.")
    if constraint.kind not in tuple(Kind) or constraint.origin not in tuple(Origin):
        raise _refused(
            f"A constraint is about {_either(Kind)} and comes from {_either(Origin)}; "
            f"{constraint.id!r} says {constraint.kind!r} and {constraint.origin!r}."
        )
    since, until = constraint.since, constraint.until
    if not _sound(since) or not _sound(until):
        raise _refused(f"The constraint {constraint.id!r} has a span that is no place in the story.")
    if since is not None and until is not None and since.document == until.document and until.offset <= since.offset:
        raise _refused(f"The constraint {constraint.id!r} would end before it begins.")
    if constraint.check is not None:
        try:
            msgspec.convert(msgspec.to_builtins(constraint.check), Check)
        except (msgspec.ValidationError, TypeError) as error:
            raise _refused(f"What is to be checked for {constraint.id!r} makes no sense: {error}.") from error
    return constraint


def _either(words: type[Kind] | type[Origin]) -> str:
    return ", ".join(word.value for word in words)


def _sound(place: Position | None) -> bool:
    return place is None or (bool(place.document) and place.offset >= 0)


def _refused(sentence: str) -> FabulaError:
    return FabulaError(Code.CONSTRAINT_VALIDATION_ERROR, f"{sentence} Nothing was changed.")


def _row(constraint: Constraint) -> dict[str, Any]:
    return {"id": constraint.id, "made": constraint.made, **_columns(constraint)}


def _columns(constraint: Constraint) -> dict[str, Any]:
    since, until = constraint.since, constraint.until
    return {
        "text": constraint.text,
        "kind": Kind(constraint.kind).value,
        "origin": Origin(constraint.origin).value,
        "priority": constraint.priority,
        "since_document": None if since is None else since.document,
        "since_offset": None if since is None else since.offset,
        "until_document": None if until is None else until.document,
        "until_offset": None if until is None else until.offset,
        "check": None if constraint.check is None else msgspec.to_builtins(constraint.check),
        "changed": now(),
    }
