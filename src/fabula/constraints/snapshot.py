"""Loads the constraints snapshot from the store. There are few constraints, so a change reads all of them."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import msgspec
from sqlalchemy import Row

from fabula.constraints.model import (
    Constraint,
    ConstraintKind,
    ConstraintOrigin,
    Constraints,
    TextCheck,
)
from fabula.constraints.tables import constraints
from fabula.core.story import Position
from fabula.store.transaction import ReadTransaction


def load(
    reading: ReadTransaction, project_id: str, previous: Constraints | None = None, changed: Set[str] | None = None
) -> Constraints:
    """Load the constraints, or return the previous snapshot if none changed; equal constraints are shared with it."""
    if previous is not None and changed is not None and not changed:
        return previous
    known = {constraint.id: constraint for constraint in previous.constraints} if previous is not None else {}
    current = []
    for row in reading.rows(constraints):
        constraint, before = constraint_from_row(row), known.get(row.id)
        current.append(before if before is not None and before == constraint else constraint)
    # The limit applies when constraints are created; a project that exceeds it still opens.
    snapshot = Constraints(project_id, current, limit=None)
    return previous if previous is not None and previous.constraints == snapshot.constraints else snapshot


def constraint_from_row(row: Row[Any]) -> Constraint:
    """Make a constraint from its row."""
    return Constraint(
        id=row.id,
        text=row.text,
        kind=ConstraintKind(row.kind),
        origin=ConstraintOrigin(row.origin),
        priority=row.priority,
        created_at=row.made,
        since=None if row.since_document is None else Position(row.since_document, row.since_offset or 0),
        until=None if row.until_document is None else Position(row.until_document, row.until_offset or 0),
        check=None if row.check is None else msgspec.convert(row.check, TextCheck),
    )
