"""Loads the constraints snapshot from the store. There are few constraints, so a change reads all of them."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from sqlalchemy import Row

from fabula.constraints.model import Constraint, Constraints
from fabula.constraints.tables import constraints
from fabula.store.rows import read_struct
from fabula.store.transaction import ReadTransaction


def load(
    reading: ReadTransaction, project_id: str, previous: Constraints | None = None, changed: Set[str] | None = None
) -> Constraints:
    """Load the constraints, or return the previous snapshot if none changed; equal constraints are shared with it."""
    if previous is not None and changed is not None and not changed:
        return previous
    known = {constraint.id: constraint for constraint in previous.constraints} if previous is not None else {}
    read = map(constraint_from_row, reading.rows(constraints))
    current = [known[new.id] if known.get(new.id) == new else new for new in read]
    # The limit applies when constraints are created; a project that exceeds it still opens.
    snapshot = Constraints(project_id, current, limit=None)
    return previous if previous is not None and previous.constraints == snapshot.constraints else snapshot


def constraint_from_row(row: Row[Any]) -> Constraint:
    """Make a constraint from its row."""
    return read_struct(Constraint, row)
