"""The tree of documents: order rows as they are read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Row


def sort_in_reading_order(rows: Iterable[Row[Any]]) -> list[Row[Any]]:
    """Rows of documents in reading order: each one before its children."""
    by_parent = group_by_parent(rows)
    ordered: list[Row[Any]] = []
    stack = list(reversed(by_parent.get(None, ())))
    while stack:
        row = stack.pop()
        ordered.append(row)
        stack.extend(reversed(by_parent.get(row.id, ())))
    return ordered


def group_by_parent(rows: Iterable[Row[Any]]) -> dict[str | None, list[Row[Any]]]:
    """The children of each document, in order."""
    by_parent: dict[str | None, list[Row[Any]]] = {}
    for row in sorted(rows, key=lambda row: (row.place, row.id)):
        by_parent.setdefault(row.parent_id, []).append(row)
    return by_parent
