"""From rows to a snapshot: there are few constraints, so all are read, and those that are equal are shared."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import msgspec
from sqlalchemy import Row

from fabula.constraints.model import MOST, Check, Constraint, Constraints, Kind, Origin
from fabula.constraints.tables import constraints
from fabula.core.story import Position
from fabula.store.transaction import Reading


def load(
    reading: Reading, project_id: str, before: Constraints | None = None, moved: Set[str] | None = None
) -> Constraints:
    """The constraints as they stand; the snapshot before where none of them moved."""
    if before is not None and moved is not None and not moved:
        return before
    known = {constraint.id: constraint for constraint in before.constraints} if before is not None else {}
    found = []
    for row in reading.rows(constraints):
        fresh, kept = constraint_of(row), known.get(row.id)
        found.append(kept if kept is not None and kept == fresh else fresh)
    # The limit is kept where constraints are created: a project that is over it all the same still opens.
    snapshot = Constraints(project_id, found, most=max(MOST, len(found)))
    return before if before is not None and before.constraints == snapshot.constraints else snapshot


def constraint_of(row: Row[Any]) -> Constraint:
    """One constraint."""
    return Constraint(
        id=row.id,
        text=row.text,
        kind=Kind(row.kind),
        origin=Origin(row.origin),
        priority=row.priority,
        made=row.made,
        since=None if row.since_document is None else Position(row.since_document, row.since_offset or 0),
        until=None if row.until_document is None else Position(row.until_document, row.until_offset or 0),
        check=None if row.check is None else msgspec.convert(row.check, Check),
    )
