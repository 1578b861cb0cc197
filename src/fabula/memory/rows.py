"""A memory as a row of its table, and back."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row

from fabula.core.ids import now
from fabula.core.story import Position
from fabula.memory.model import Kind, Origin, Remembered, State


def row_of(memory: Remembered) -> dict[str, Any]:
    """What is kept of a memory beside its id and the time it was made."""
    since = memory.since
    return {
        "kind": Kind(memory.kind).value,
        "text": memory.text,
        "confidence": float(memory.confidence),
        "evidence": list(memory.evidence),
        "state": State(memory.state).value,
        "since_document": None if since is None else since.document,
        "since_offset": None if since is None else since.offset,
        "origin": Origin(memory.origin).value,
        "agreeing": memory.agreeing,
        "against": memory.against,
        "seen": memory.seen,
        "changed": now(),
    }


def memory_of(row: Row[Any]) -> Remembered:
    """The memory of a row."""
    return Remembered(
        id=row.id,
        text=row.text,
        kind=Kind(row.kind),
        origin=Origin(row.origin),
        confidence=row.confidence,
        evidence=tuple(row.evidence),
        state=State(row.state),
        since=place_of(row, "since"),
        agreeing=row.agreeing,
        against=row.against,
        seen=row.seen,
        version=row.version,
        made=row.made,
    )


def place_of(row: Row[Any], prefix: str) -> Position | None:
    """A place in the story, where the row names one."""
    document = row._mapping[f"{prefix}_document"]
    return None if document is None else Position(document, row._mapping[f"{prefix}_offset"] or 0)
