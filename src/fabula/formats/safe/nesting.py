"""Measure how deep a tree is without recursion."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def is_deeper(root: T, limit: int, list_children: Callable[[T], Iterable[T]]) -> bool:
    """Tell whether a tree has more levels than the limit, its root included."""
    level = [root]
    for _ in range(limit):
        level = [child for parent in level for child in list_children(parent)]
    return bool(level)
