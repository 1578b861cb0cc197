"""Creates, lists, changes and deletes stored constraints (con-1, con-2, con-3).

A change is in force in the next prompt. Write transactions of one project run one after another, so the limit can
be checked by counting first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Row

from fabula.constraints.model import (
    MAX_CONSTRAINTS,
    Constraint,
    ConstraintKind,
    ConstraintOrigin,
    check_limit,
    sort_constraints,
)
from fabula.constraints.snapshot import constraint_from_row
from fabula.constraints.tables import constraints
from fabula.core.decoding import explain_decode_error
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp, is_valid_id
from fabula.core.messages import Sentence, join_names, message
from fabula.store.rows import position_values
from fabula.store.transaction import ReadTransaction, WriteTransaction

_CHANGEABLE = frozenset(Constraint.__struct_fields__) - {"id", "created_at"}


class StoredConstraint(Struct, frozen=True, kw_only=True):
    """A constraint in the store, with its version and the time of its last change."""

    constraint: Constraint
    version: int
    updated_at: str


def create(tx: WriteTransaction, constraint: Constraint, *, limit: int = MAX_CONSTRAINTS) -> str:
    """Store a new constraint and return its id; refuse it if the project has reached the limit."""
    created_at = constraint.created_at or current_timestamp()
    constraint = validate_constraint(replace(constraint, created_at=created_at))
    check_limit(tx.count(constraints) + 1, limit)
    tx.insert(constraints, _row(constraint))
    return constraint.id


def update(tx: WriteTransaction, constraint_id: str, values: Mapping[str, Any], *, expected: int | None = None) -> int:
    """Change text, kind, origin, priority, span or check, and return the new version."""
    rejected = values.keys() - _CHANGEABLE
    if rejected:
        names = join_names(sorted(rejected))
        raise _constraint_error(message("These fields of a constraint cannot be changed: {names}.", names=names))
    constraint = validate_constraint(constraint_from_row(tx.require(constraints, id=constraint_id)), **values)
    return tx.update_row(constraints, {"id": constraint_id}, _row(constraint), expected=expected)


def delete(tx: WriteTransaction, constraint_id: str, *, expected: int | None = None) -> None:
    """Delete a constraint."""
    tx.update_row(constraints, {"id": constraint_id}, {}, expected=expected)
    tx.delete_rows(constraints, constraints.c.id == constraint_id)


def put_all(tx: WriteTransaction, new_constraints: Iterable[Constraint], *, limit: int = MAX_CONSTRAINTS) -> int:
    """Store constraints, each new or in place of the one with its id; return how many were written."""
    valid: dict[str, Constraint] = {}
    for constraint in new_constraints:
        if constraint.id in valid:
            raise _constraint_error(
                message("Two constraints have the id {id!r}. Give one of them another id.", id=constraint.id)
            )
        valid[constraint.id] = validate_constraint(constraint)
    old = {row.id: constraint_from_row(row) for row in tx.rows(constraints)}
    new = [constraint for ident, constraint in valid.items() if ident not in old]
    changed = [constraint for ident, constraint in valid.items() if ident in old and old[ident] != constraint]
    if new:
        check_limit(len(old) + len(new), limit)
    tx.insert(constraints, *map(_row, new))
    for constraint in changed:
        tx.update_row(constraints, {"id": constraint.id}, _row(constraint))
    return len(new) + len(changed)


def get(reading: ReadTransaction, constraint_id: str) -> StoredConstraint:
    """Read one constraint; a missing one is refused."""
    return _stored(reading.require(constraints, id=constraint_id))


def list_constraints(
    reading: ReadTransaction, *, kind: ConstraintKind | None = None, origin: ConstraintOrigin | None = None
) -> list[StoredConstraint]:
    """List all constraints, or those of a kind or origin, in prompt order."""
    stored = {row.id: _stored(row) for row in reading.rows(constraints)}
    return [
        stored[constraint.id]
        for constraint in sort_constraints(item.constraint for item in stored.values())
        if kind in (None, constraint.kind) and origin in (None, constraint.origin)
    ]


def _stored(row: Row[Any]) -> StoredConstraint:
    return StoredConstraint(constraint=constraint_from_row(row), version=row.version, updated_at=row.changed)


def validate_constraint(constraint: Constraint, **values: object) -> Constraint:
    """Return a constraint with some values changed; refuse one that cannot be stored, whatever it was made of."""
    try:
        fields = msgspec.to_builtins(constraint) | msgspec.to_builtins(values)
        constraint = msgspec.convert(fields, Constraint)
    except (msgspec.ValidationError, TypeError) as error:
        problem = explain_decode_error(error, Constraint)
        raise _constraint_error(
            message("The constraint {id!r} cannot be stored: {problem}.", id=constraint.id, problem=problem)
        ) from error
    if not is_valid_id(constraint.id):
        raise _constraint_error(
            message("{id!r} cannot be the id of a constraint: leave out spaces, slashes and `|`.", id=constraint.id)
        )
    since, until = constraint.since, constraint.until
    if any(mark is not None and (not mark.document or mark.offset < 0) for mark in (since, until)):
        raise _constraint_error(
            message("The constraint {id!r} begins or ends at no place in the story.", id=constraint.id)
        )
    if since is not None and until is not None and since.document == until.document and until.offset <= since.offset:
        raise _constraint_error(message("The constraint {id!r} would end before it begins.", id=constraint.id))
    return constraint


def _constraint_error(sentence: Sentence) -> FabulaError:
    return FabulaError(Code.CONSTRAINT_VALIDATION_ERROR, message("{sentence} Nothing was changed.", sentence=sentence))


def _row(constraint: Constraint) -> dict[str, Any]:
    columns: dict[str, Any] = msgspec.to_builtins(constraint)
    del columns["since"], columns["until"]
    since, until = position_values("since", constraint.since), position_values("until", constraint.until)
    return {**columns, **since, **until, "changed": current_timestamp()}
