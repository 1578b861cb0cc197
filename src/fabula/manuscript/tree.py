"""The tree of documents, read from top to bottom."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Row


def in_order(rows: Iterable[Row[Any]]) -> list[Row[Any]]:
    """Rows of documents in reading order: each one before what stands below it."""
    by_parent = children(rows)
    found: list[Row[Any]] = []
    waiting = list(reversed(by_parent.get(None, ())))
    while waiting:
        row = waiting.pop()
        found.append(row)
        waiting.extend(reversed(by_parent.get(row.id, ())))
    return found


def children(rows: Iterable[Row[Any]]) -> dict[str | None, list[Row[Any]]]:
    """Who stands below whom, in order."""
    by_parent: dict[str | None, list[Row[Any]]] = {}
    for row in sorted(rows, key=lambda row: (row.place, row.id)):
        by_parent.setdefault(row.parent_id, []).append(row)
    return by_parent
